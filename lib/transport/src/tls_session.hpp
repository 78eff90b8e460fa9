// SPDX-License-Identifier: Apache-2.0
// One connection's TLS below a Socket. Bytes to send are encrypted into memory and go out in large pieces, not a record
// a system call; bytes that came are decrypted straight into where the caller wants them.
#pragma once

#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/transport/socket.hpp"

namespace weir::transport {

/// The names that a certificate is made out to: common names first, then alternative names for hosts.
[[nodiscard]] std::vector<std::string> names_of(const X509* certificate);
/// Its organizational units.
[[nodiscard]] std::vector<std::string> units_of(const X509* certificate);
/// The organizational unit of parts, of whom alone the other side may be (TlsFiles::unit); empty: of others too.
[[nodiscard]] std::string_view unit_of(const SSL* ssl);
/// The result of a verification: a good certificate, and not that of a part. OpenSSL answers it as a bad one.
inline constexpr int refused_as_part = X509_V_ERR_CERT_REJECTED;

class TlsSession {
public:
    /// `ssl` knows its role and has no BIO yet.
    [[nodiscard]] static std::unique_ptr<TlsSession, TlsSessionEnd> open(SSL* ssl, int fd);
    ~TlsSession();
    TlsSession(const TlsSession&) = delete;
    TlsSession& operator=(const TlsSession&) = delete;

    [[nodiscard]] Result<Transfer> read(std::span<const iovec> targets);
    /// After would_block the caller comes again with the same bytes in front: some of them are encrypted already.
    [[nodiscard]] Result<Transfer> write(std::span<const iovec> sources);
    /// Sends the end of the data, as far as the socket takes it.
    void finish() noexcept;

    /// Bytes were read from the socket and wait here, so that the kernel does not report the socket as readable.
    [[nodiscard]] bool unread() const noexcept { return failure_ || (more_ && SSL_has_pending(ssl_) != 0); }
    [[nodiscard]] Interest waits_for(Interest wanted) const noexcept;
    [[nodiscard]] std::vector<std::string> peer_names() const;
    /// The handshake has shown that the other side is a part of our own system.
    [[nodiscard]] bool with_part() const noexcept { return SSL_is_init_finished(ssl_) != 0 && !unit_of(ssl_).empty(); }

private:
    TlsSession(SSL* ssl, int fd) : ssl_(ssl), fd_(fd) {}
    enum class Flushed { yes, blocked, closed };
    [[nodiscard]] Flushed flush() noexcept;
    [[nodiscard]] std::size_t unsent() const noexcept;
    [[nodiscard]] Result<> encrypt(std::span<const iovec> sources);
    [[nodiscard]] Result<Transfer> failed(int result, const char* doing);

    SSL* const ssl_;
    const int fd_;
    BIO* encrypted_ = nullptr;       // what SSL wants to send; owned by ssl_
    std::size_t sent_ = 0;           // of its front
    std::size_t accepted_ = 0;       // bytes of a write whose encrypted form is not sent yet
    std::optional<Error> failure_;   // to be reported by the next read
    bool more_ = false;              // the last read stopped for want of room, not of bytes
    bool read_wants_write_ = false;  // the last read could not go on before encrypted bytes leave
    bool write_wants_read_ = false;  // the last write waits for the handshake
};

}  // namespace weir::transport
