// SPDX-License-Identifier: Apache-2.0
#include "tls_session.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace weir::transport {
namespace {

constexpr std::size_t piece_size = 16 * 1024;          // of a TLS record, at most
constexpr std::size_t encrypted_at_once = 256 * 1024;  // before it is sent
constexpr std::size_t unsent_max =
    512 * 1024;  // beyond it, a peer that causes answers and does not read them is not read either

void add(std::vector<std::string>& texts, const ASN1_STRING* text) {
    if (text == nullptr) return;
    texts.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                       static_cast<std::size_t>(std::max(ASN1_STRING_length(text), 0)));
}

/// Of a certificate's subject, by the kind of entry.
std::vector<std::string> entries_of(const X509* certificate, int kind) {
    std::vector<std::string> entries;
    const auto* subject = X509_get_subject_name(certificate);
    for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, kind, at)) >= 0;)
        add(entries, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    return entries;
}

}  // namespace

std::string reason_of(const SSL* ssl, unsigned long error) {
    const auto verified = SSL_get_verify_result(ssl);
    if (const auto unit = unit_of(ssl); verified == refused_as_part && !unit.empty())
        return fmt::format("its certificate is not taken: it has neither our key nor the organizational unit {}", unit);
    if (verified != X509_V_OK)
        return fmt::format("its certificate is not taken: {}", X509_verify_cert_error_string(verified));
    switch (ERR_GET_REASON(error)) {
        case SSL_R_WRONG_VERSION_NUMBER:
        case SSL_R_HTTP_REQUEST:
        case SSL_R_HTTPS_PROXY_REQUEST:
        case SSL_R_UNKNOWN_PROTOCOL: return "it does not speak TLS";
        case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE: return "it shows no certificate";
        case SSL_R_UNSUPPORTED_PROTOCOL: return "it speaks only versions of TLS before 1.2";
        case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
        case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
        case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
        case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
        case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
            return fmt::format("it does not take our certificate ({})", ERR_reason_error_string(error));
        case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED: return "it wants a certificate of ours and got none";
        default: break;
    }
    const char* text = ERR_reason_error_string(error);
    return text != nullptr ? text : "a failure that has no name";
}

void TlsSessionEnd::operator()(TlsSession* session) const noexcept { delete session; }

std::unique_ptr<TlsSession, TlsSessionEnd> TlsSession::open(SSL* ssl, int fd) {
    std::unique_ptr<TlsSession, TlsSessionEnd> session(new TlsSession(ssl, fd));
    BIO* incoming = BIO_new_socket(fd, BIO_NOCLOSE);
    BIO* outgoing = BIO_new(BIO_s_mem());
    if (incoming == nullptr || outgoing == nullptr) {
        BIO_free(incoming);
        BIO_free(outgoing);
        return nullptr;
    }
    SSL_set_bio(ssl, incoming, outgoing);
    session->encrypted_ = outgoing;
    return session;
}

TlsSession::~TlsSession() { SSL_free(ssl_); }

std::vector<std::string> TlsSession::peer_names() const { return names_of(SSL_get0_peer_certificate(ssl_)); }

std::vector<std::string> names_of(const X509* certificate) {
    if (certificate == nullptr) return {};
    auto names = entries_of(certificate, NID_commonName);
    auto* others = static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
    for (int i = 0; i < sk_GENERAL_NAME_num(others); ++i) {
        const auto* name = sk_GENERAL_NAME_value(others, i);
        if (name->type == GEN_DNS) add(names, name->d.dNSName);
    }
    GENERAL_NAMES_free(others);
    return names;
}

std::vector<std::string> units_of(const X509* certificate) {
    return entries_of(certificate, NID_organizationalUnitName);
}

std::size_t TlsSession::unsent() const noexcept { return BIO_ctrl_pending(encrypted_) - sent_; }

TlsSession::Flushed TlsSession::flush() noexcept {
    char* data = nullptr;
    const auto size = static_cast<std::size_t>(std::max(BIO_get_mem_data(encrypted_, &data), 0L));
    while (sent_ < size) {
        const auto count = ::send(fd_, data + sent_, size - sent_, MSG_NOSIGNAL);
        if (count >= 0) sent_ += static_cast<std::size_t>(count);
        else if (errno == EAGAIN) return Flushed::blocked;
        else if (errno != EINTR) return Flushed::closed;
    }
    static_cast<void>(BIO_reset(encrypted_));
    sent_ = 0;
    return Flushed::yes;
}

/// The meaning of a call of OpenSSL that returned no data.
Result<Transfer> TlsSession::failed(int result, const char* doing) {
    const int kind = SSL_get_error(ssl_, result);
    const auto error = ERR_peek_error();
    const bool cut = ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
    if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) return Transfer{Transfer::State::would_block, 0};
    if (kind == SSL_ERROR_ZERO_RETURN || kind == SSL_ERROR_SYSCALL || cut) return Transfer{Transfer::State::closed, 0};
    static_cast<void>(flush());  // sends the alert to the other side
    if (SSL_is_server(ssl_) != 0 && ERR_GET_REASON(error) == SSL_R_WRONG_VERSION_NUMBER &&
        SSL_is_init_finished(ssl_) == 0) {
        // OpenSSL sends no alert to a peer without TLS. Alert, TLS 1.0 framing, fatal, protocol_version (RFC 8446, 5.1
        // and 6).
        constexpr std::array<unsigned char, 7> alert{21, 3, 1, 0, 2, 2, 70};
        static_cast<void>(::send(fd_, alert.data(), alert.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    }
    const auto reason = reason_of(ssl_, error);
    ERR_clear_error();
    return fail(Errc::refused,
                fmt::format("TLS: cannot {}: {}", SSL_is_init_finished(ssl_) != 0 ? doing : "agree with the other side",
                            reason));
}

Result<Transfer> TlsSession::read(std::span<const iovec> targets) {
    if (failure_) return std::unexpected(*failure_);
    read_wants_write_ = false;
    more_ = false;
    const auto before = flush();
    if (before == Flushed::closed) return Transfer{Transfer::State::closed, 0};
    if (unsent() > unsent_max) {
        read_wants_write_ = true;
        return Transfer{Transfer::State::would_block, 0};
    }
    std::size_t total = 0;
    for (const auto& target : targets) {
        for (std::size_t done = 0; done < target.iov_len;) {
            std::size_t count = 0;
            ERR_clear_error();
            const int result =
                SSL_read_ex(ssl_, static_cast<std::byte*>(target.iov_base) + done, target.iov_len - done, &count);
            if (result <= 0) {
                auto outcome = failed(result, "read");
                if (flush() == Flushed::blocked && SSL_is_init_finished(ssl_) == 0) read_wants_write_ = true;
                if (SSL_is_init_finished(ssl_) != 0) write_wants_read_ = false;
                if (total == 0) return outcome;
                // Data before the failure is delivered; the next read reports it.
                if (!outcome) failure_ = std::move(outcome.error());
                return Transfer{Transfer::State::done, total};
            }
            done += count;
            total += count;
        }
    }
    write_wants_read_ = false;
    more_ = true;
    if (total == 0) return Transfer{Transfer::State::would_block, 0};
    return Transfer{Transfer::State::done, total};
}

/// As much of the sources as one flush may carry. Small pieces share a record.
Result<> TlsSession::encrypt(std::span<const iovec> sources) {
    std::array<std::byte, piece_size> together;
    std::size_t gathered = 0;
    const auto put = [this](const std::byte* data, std::size_t size) -> Result<> {
        std::size_t count = 0;
        ERR_clear_error();
        const int result = SSL_write_ex(ssl_, data, size, &count);
        if (result > 0) return accepted_ += count, Result<>{};
        WEIR_TRY(failed(result, "write"));
        return fail(Errc::io, "TLS: the other side has ended the connection");
    };
    for (const auto& source : sources) {
        const auto* data = static_cast<const std::byte*>(source.iov_base);
        for (std::size_t left = source.iov_len; left > 0;) {
            const bool direct = gathered == 0 && left >= piece_size;
            const auto count = std::min(left, piece_size - gathered);
            if (!direct) std::memcpy(together.data() + gathered, data, count);
            gathered += count;
            if (gathered == piece_size) {
                WEIR_TRY(put(direct ? data : together.data(), gathered));
                gathered = 0;
                if (accepted_ >= encrypted_at_once) return {};
            }
            data += count;
            left -= count;
        }
    }
    if (gathered > 0) return put(together.data(), gathered);
    return {};
}

Result<Transfer> TlsSession::write(std::span<const iovec> sources) {
    write_wants_read_ = false;
    if (SSL_is_init_finished(ssl_) == 0) {
        ERR_clear_error();
        if (const int result = SSL_do_handshake(ssl_); result <= 0) {
            auto outcome = failed(result, "write");
            const auto flushed = flush();
            if (flushed == Flushed::closed) return Transfer{Transfer::State::closed, 0};
            write_wants_read_ = flushed == Flushed::yes;
            return outcome;
        }
    }
    if (accepted_ == 0) {  // else the same bytes come again, and are only to be sent
        WEIR_TRY(encrypt(sources));
    }
    switch (flush()) {
        case Flushed::closed: return Transfer{Transfer::State::closed, 0};
        case Flushed::blocked: return Transfer{Transfer::State::would_block, 0};
        case Flushed::yes: break;
    }
    return Transfer{Transfer::State::done, std::exchange(accepted_, 0)};
}

void TlsSession::finish() noexcept {
    if (SSL_is_init_finished(ssl_) != 0) {
        ERR_clear_error();
        static_cast<void>(SSL_shutdown(ssl_));
        ERR_clear_error();
    }
    static_cast<void>(flush());
}

Interest TlsSession::waits_for(Interest wanted) const noexcept {
    if (wanted.write && write_wants_read_) wanted = {.read = true, .write = false};
    if (wanted.read && read_wants_write_) wanted.write = true;
    return wanted;
}

}  // namespace weir::transport
