// SPDX-License-Identifier: Apache-2.0
#include "weir/transport/tls.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <string_view>

#include "tls_session.hpp"
#include "weir/base/file.hpp"
#include "x509.hpp"

namespace weir::transport {
namespace {

constexpr std::size_t read_buffer_size = 64 * 1024;  // several records a system call; released while idle

std::unexpected<Error> bad_file(const char* what, const std::filesystem::path& path, const char* advice) {
    const auto error = ERR_peek_error();  // the first: the others follow from it
    const char* reason = ERR_reason_error_string(error);
    auto text = fmt::format("cannot use {} as {}: {}; {}", path.native(), what,
                            reason != nullptr ? reason : "not what it should be", advice);
    const int os = ERR_SYSTEM_ERROR(error) ? static_cast<int>(ERR_GET_REASON(error)) : 0;
    ERR_clear_error();
    return os == 0 ? fail(Errc::usage, std::move(text))
                   : fail_errno(os, fmt::format("cannot read {} as {}", path.native(), what));
}

/// SSL_set_tlsext_host_name without the cast of its macro.
bool set_server_name(SSL* ssl, std::string host) {
    return SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, host.data()) == 1;
}

/// It has our key, and so is ours, or what ours was before it was renewed.
bool is_our_own(const SSL* ssl, const X509* certificate) {
    const auto* const own = SSL_get_certificate(ssl);
    return own != nullptr && EVP_PKEY_eq(X509_get0_pubkey(own), X509_get0_pubkey(certificate)) == 1;
}

const SSL* session_of(X509_STORE_CTX* context) {
    return static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx()));
}

/// A verification of OpenSSL that takes our own certificate also when it has ended.
int good_or_our_own(int good, X509_STORE_CTX* context) {
    if (good == 1 || X509_STORE_CTX_get_error(context) != X509_V_ERR_CERT_HAS_EXPIRED ||
        X509_STORE_CTX_get_error_depth(context) != 0)
        return good;
    const auto* const ssl = session_of(context);
    if (ssl == nullptr || !is_our_own(ssl, X509_STORE_CTX_get_current_cert(context))) return good;
    X509_STORE_CTX_set_error(context, X509_V_OK);
    return 1;
}

/// One that takes parts of our own system only, see TlsFiles::unit. Called for each certificate of the chain; the last,
/// with depth 0, is that of the other side, and perhaps again for each fault.
int good_part(int good, X509_STORE_CTX* context) {
    if (good_or_our_own(good, context) != 1) return 0;
    if (X509_STORE_CTX_get_error_depth(context) != 0) return 1;
    const auto* const ssl = session_of(context);
    const auto* const certificate = X509_STORE_CTX_get_current_cert(context);
    if (ssl != nullptr && certificate != nullptr &&
        (is_our_own(ssl, certificate) || std::ranges::count(units_of(certificate), unit_of(ssl)) > 0))
        return 1;
    X509_STORE_CTX_set_error(context, refused_as_part);
    return 0;
}

// What OpenSSL keeps for us with a context: the unit of parts, and the context that serves them.
void free_unit(void*, void* unit, CRYPTO_EX_DATA*, int, long, void*) { delete static_cast<std::string*>(unit); }
void free_context(void*, void* context, CRYPTO_EX_DATA*, int, long, void*) {
    SSL_CTX_free(static_cast<SSL_CTX*>(context));
}
int unit_index() {
    static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, &free_unit);
    return index;
}
int parts_index() {
    static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, &free_context);
    return index;
}

/// The client has sent the name of the server that it wants, or none.
int choose_context(SSL* ssl, int* alert, void* parts) {
    static_cast<void>(alert);
    auto* const context = static_cast<SSL_CTX*>(parts);
    const auto* const unit = static_cast<const std::string*>(SSL_CTX_get_ex_data(context, unit_index()));
    const char* const wanted = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    if (wanted == nullptr || unit == nullptr || *unit != wanted) return SSL_TLSEXT_ERR_NOACK;
    if (SSL_set_SSL_CTX(ssl, context) == nullptr) return SSL_TLSEXT_ERR_ALERT_FATAL;
    SSL_set_verify(ssl, SSL_CTX_get_verify_mode(context), SSL_CTX_get_verify_callback(context));
    return SSL_TLSEXT_ERR_OK;
}

/// No renegotiation, no resumption, no compression; large pieces.
void set_up(SSL_CTX* context) {
    SSL_CTX_set_options(
        context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, read_buffer_size);
}

/// What its extended key usage allows.
bool is_for(X509* certificate, int purpose) { return X509_check_purpose(certificate, purpose, 0) == 1; }

}  // namespace

Result<TlsContext> TlsContext::for_server(const TlsFiles& files) { return open(files, true); }
Result<TlsContext> TlsContext::for_client(const TlsFiles& files) { return open(files, false); }

Result<TlsContext> TlsContext::for_anyone(const TlsFiles& files) {
    auto context = WEIR_TRY(open(files, true));
    const auto text = WEIR_TRY(read_text(files.authority, 64_KiB));
    const auto authority = WEIR_TRY(Certificate::read(text));
    if (SSL_CTX_add1_chain_cert(context.native(), authority.native()) != 1)
        return bad_file("the authority", files.authority, "give a PEM file with --tls-ca");
    SSL_CTX_set_verify(context.native(), SSL_VERIFY_NONE, nullptr);
    return context;
}

Result<TlsContext> TlsContext::for_stranger() {
    ERR_clear_error();
    const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
    if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1)
        return fail(Errc::io, "cannot begin TLS");
    set_up(context.get());
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
    return TlsContext(context);
}

Result<TlsContext> TlsContext::for_web(const std::filesystem::path& authorities) {
    auto context = WEIR_TRY(for_stranger());
    auto* const native = context.native();
    SSL_CTX_set_verify(native, SSL_VERIFY_PEER, nullptr);
    if (authorities.empty()) {
        if (SSL_CTX_set_default_verify_paths(native) != 1)
            return fail(Errc::io, "cannot read the certificates of this machine's authorities");
    } else if (SSL_CTX_load_verify_locations(native, authorities.c_str(), nullptr) != 1) {
        return bad_file("the authorities", authorities, "give a PEM file");
    }
    return context;
}

Result<TlsContext> TlsContext::open(const TlsFiles& files, bool server) {
    if (files.certificate.empty() || files.key.empty() || files.authority.empty())
        return fail(Errc::usage,
                    "TLS needs three files: a certificate, its key, and the certificate of the authority "
                    "(--tls-certificate, --tls-key, --tls-ca)");
    ERR_clear_error();
    const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(server ? TLS_server_method() : TLS_client_method()),
                                           &SSL_CTX_free);
    if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1)
        return fail(Errc::io, "cannot begin TLS");
    set_up(context.get());
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);

    if (SSL_CTX_use_certificate_chain_file(context.get(), files.certificate.c_str()) != 1)
        return bad_file("the certificate", files.certificate, "give a PEM file with --tls-certificate");
    if (SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM) != 1)
        return bad_file("the key", files.key, "give the PEM file of this certificate's key with --tls-key");
    if (SSL_CTX_check_private_key(context.get()) != 1)
        return bad_file("the key", files.key, "it is not the key of that certificate");
    if (!is_for(SSL_CTX_get0_certificate(context.get()), server ? X509_PURPOSE_SSL_SERVER : X509_PURPOSE_SSL_CLIENT))
        return fail(Errc::usage,
                    fmt::format("{} is no certificate for a TLS {}: its extended key usage leaves that out; "
                                "have one made with {} too",
                                files.certificate.native(), server ? "server" : "client",
                                server ? "serverAuth" : "clientAuth"));
    if (SSL_CTX_load_verify_locations(context.get(), files.authority.c_str(), nullptr) != 1)
        return bad_file("the authority", files.authority, "give a PEM file with --tls-ca");
    if (server) {  // the authorities whose certificates are accepted are sent to clients
        auto* names = SSL_load_client_CA_file(files.authority.c_str());
        if (names == nullptr) return bad_file("the authority", files.authority, "give a PEM file with --tls-ca");
        SSL_CTX_set_client_CA_list(context.get(), names);
    }
    if (!files.unit.empty()) {
        auto unit = std::make_unique<std::string>(files.unit);
        if (SSL_CTX_set_ex_data(context.get(), unit_index(), unit.get()) != 1)
            return fail(Errc::io, "no memory for TLS");
        static_cast<void>(unit.release());  // the context's
        SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, &good_part);
    }
    return TlsContext(context);
}

void TlsContext::serve_parts(const TlsContext& parts) {
    auto* const context = parts.native();
    SSL_CTX_up_ref(context);
    SSL_CTX_free(static_cast<SSL_CTX*>(SSL_CTX_get_ex_data(context_.get(), parts_index())));
    SSL_CTX_set_ex_data(context_.get(), parts_index(), context);
    // SSL_CTX_set_tlsext_servername_callback and _arg without the casts of their macros.
    SSL_CTX_callback_ctrl(context_.get(), SSL_CTRL_SET_TLSEXT_SERVERNAME_CB,
                          reinterpret_cast<void (*)()>(&choose_context));
    SSL_CTX_ctrl(context_.get(), SSL_CTRL_SET_TLSEXT_SERVERNAME_ARG, 0, context);
}

Result<> TlsContext::accept(Socket& socket) const {
    SSL* ssl = SSL_new(context_.get());
    if (ssl == nullptr) return fail(Errc::io, "no memory for a TLS connection");
    SSL_set_accept_state(ssl);
    socket.tls_ = TlsSession::open(ssl, socket.fd());
    if (!socket.tls_) return fail(Errc::io, "no memory for a TLS connection");
    return {};
}

WallTime TlsContext::certificate_ends() const {
    const auto* certificate = SSL_CTX_get0_certificate(context_.get());
    return certificate == nullptr ? WallTime::max() : time_of(X509_get0_notAfter(certificate));
}

WallTime TlsContext::certificate_ends_soon() const {
    const auto* certificate = SSL_CTX_get0_certificate(context_.get());
    if (certificate == nullptr) return WallTime::max();
    const auto ends = certificate_ends();
    const auto life = ends - time_of(X509_get0_notBefore(certificate));
    return ends - std::min<WallTime::duration>(life / 3, std::chrono::hours{24 * 30});
}

std::string TlsContext::certificate_name() const {
    const auto names = names_of(SSL_CTX_get0_certificate(context_.get()));
    return names.empty() ? std::string() : names.front();
}

bool TlsContext::expect(SSL* ssl, const std::string& host) {
    std::array<unsigned char, sizeof(in6_addr)> address{};
    const bool literal = ::inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
                         ::inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
    return literal ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str()) == 1
                   : SSL_set1_host(ssl, host.c_str()) == 1 && set_server_name(ssl, host);
}

Result<> TlsContext::connect(Socket& socket, const std::string& host) const {
    SSL* ssl = SSL_new(context_.get());
    if (ssl == nullptr) return fail(Errc::io, "no memory for a TLS connection");
    SSL_set_connect_state(ssl);
    const auto unit = unit_of(ssl);
    const bool named = unit.empty() ? expect(ssl, host) : set_server_name(ssl, std::string(unit));
    socket.tls_ = TlsSession::open(ssl, socket.fd());
    if (!named || !socket.tls_) return fail(Errc::io, fmt::format("cannot begin TLS with \"{}\"", host));
    return {};
}

void TlsContext::trust_own_key() {
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, &good_or_our_own);
}

std::string_view unit_of(const SSL* ssl) {
    const auto* const unit = static_cast<const std::string*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), unit_index()));
    return unit == nullptr ? std::string_view() : std::string_view(*unit);
}

namespace {

std::string key_bytes(const X509* certificate) {
    auto* key = X509_get0_pubkey(certificate);
    if (key == nullptr) return {};
    EVP_PKEY_up_ref(key);
    return PublicKey(std::shared_ptr<EVP_PKEY>(key, &EVP_PKEY_free)).bytes();
}

}  // namespace

TlsPeer peer_of(const SSL* ssl) {
    const auto* const certificate = SSL_get0_peer_certificate(ssl);
    if (certificate == nullptr) return {};
    return {names_of(certificate), units_of(certificate), is_our_own(ssl, certificate), key_bytes(certificate)};
}

Result<Certificate> check_authority(const SSL* ssl, const Digest& authority, WallTime now) {
    const auto* const chain = SSL_get_peer_cert_chain(ssl);
    const auto owned = [](X509* certificate) {
        X509_up_ref(certificate);
        return Certificate(std::shared_ptr<X509>(certificate, &X509_free));
    };
    if (sk_X509_num(chain) < 1) return fail(Errc::refused, "it shows no certificate");
    const auto own = owned(sk_X509_value(chain, 0));
    for (int i = 1; i < sk_X509_num(chain); ++i) {
        const auto shown = owned(sk_X509_value(chain, i));
        if (shown.fingerprint() != authority) continue;
        const auto certificate = WEIR_TRY(own.pem());
        const auto anchor = WEIR_TRY(shown.pem());
        if (const auto good = check_chain(certificate, anchor, now); !good)
            return fail(Errc::refused, fmt::format("its certificate is not taken: {}", good.error().context));
        return shown;
    }
    return fail(Errc::refused, "its authority is another one (the fingerprint differs)");
}

}  // namespace weir::transport
