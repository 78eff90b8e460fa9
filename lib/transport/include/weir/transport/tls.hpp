// SPDX-License-Identifier: Apache-2.0
// Mutual TLS on a Socket: each side shows a certificate of one authority, and no byte is believed before both did.
// TLS 1.2 or later, no renegotiation, no resumption, no compression. A socket that was secured is used like any other:
// the handshake happens within its reads and writes.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/result.hpp"
#include "weir/transport/certificate.hpp"
#include "weir/transport/socket.hpp"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX
struct ssl_st;      // and SSL

namespace weir::transport {

/// PEM files. All three, or none: plain TCP. With `unit`, both sides are parts of one system, on whichever machine they
/// are: the other side must show our own key (also when its certificate has ended), or a certificate of the authority
/// with this organizational unit; host names are not compared.
struct TlsFiles {
    std::filesystem::path certificate{};  // ours, and those between it and the authority
    std::filesystem::path key{};          // of our certificate; readable by us only
    std::filesystem::path authority{};    // whose certificates the other side may show
    std::string unit{};                   // of parts; empty: any certificate of the authority, and names are compared

    [[nodiscard]] bool any() const { return !certificate.empty() || !key.empty() || !authority.empty(); }
};

/// Certificates that were read, for any number of sockets. Copies share them; any thread.
class TlsContext {
public:
    /// Errc::usage: one of the files is not named; else names the file that cannot be read or does not fit.
    [[nodiscard]] static Result<TlsContext> for_server(const TlsFiles& files);
    [[nodiscard]] static Result<TlsContext> for_client(const TlsFiles& files);
    /// A server for those who have no certificate yet: it asks for none, and shows that of its authority too.
    [[nodiscard]] static Result<TlsContext> for_anyone(const TlsFiles& files);
    /// A client that has no certificate and knows no authority yet. It believes nobody: check_authority() before a byte
    /// is sent.
    [[nodiscard]] static Result<TlsContext> for_stranger();
    /// A client of servers that are not ours, without a certificate of its own. It believes whom the authorities of
    /// `authorities`, a PEM file, have signed; empty: those of this machine. Errc::usage: the file is none.
    [[nodiscard]] static Result<TlsContext> for_web(const std::filesystem::path& authorities);

    /// From now on the socket uses TLS: of one that was accepted, or one that begins to connect to `host`, a name or
    /// an address, for which the other side's certificate must be made out unless it is that of a part. Error: out of
    /// memory.
    [[nodiscard]] Result<> accept(Socket& socket) const;
    [[nodiscard]] Result<> connect(Socket& socket, const std::string& host) const;

    /// Of a server that takes parts and others at one port: parts (which ask for their unit as the server's name, SNI)
    /// are served with `parts`, a context for servers with a unit, all others with this one. Before the first accept().
    void serve_parts(const TlsContext& parts);

    // For a library with sockets of its own that speaks TLS through OpenSSL too.

    /// Ours; SSL_CTX_up_ref() for who keeps it.
    [[nodiscard]] ssl_ctx_st* native() const noexcept { return context_.get(); }
    /// The other side's certificate must be made out for `host`, a name or an address. False: OpenSSL does not take it.
    [[nodiscard]] static bool expect(ssl_st* ssl, const std::string& host);
    /// From now on who has our own key is believed also when the certificate has ended: parts of one system that share
    /// it go on. Before the first connection.
    void trust_own_key();

    /// When our own certificate ends.
    [[nodiscard]] WallTime certificate_ends() const;
    /// From when on that is soon: the last third of its life, 30 days at most.
    [[nodiscard]] WallTime certificate_ends_soon() const;
    /// The first name that it is made out to; empty when it has none.
    [[nodiscard]] std::string certificate_name() const;

private:
    explicit TlsContext(std::shared_ptr<ssl_ctx_st> context) : context_(std::move(context)) {}
    [[nodiscard]] static Result<TlsContext> open(const TlsFiles& files, bool server);
    std::shared_ptr<ssl_ctx_st> context_;  // shared by copies
};

/// What the certificate of the other side says, after the handshake.
struct TlsPeer {
    std::vector<std::string> names{};  // common names first, then alternative names for hosts
    std::vector<std::string> units{};  // organizational units of its subject (OU, RFC 4519)
    bool ours = false;                 // its key is ours
    std::string key{};                 // PublicKey::bytes()
};
[[nodiscard]] TlsPeer peer_of(const ssl_st* ssl);

/// After a handshake of for_stranger(): the certificate of the other side and its authority, when that is the one with
/// this fingerprint, and signed it, and it has not ended. Errc::refused: why it is not believed.
[[nodiscard]] Result<Certificate> check_authority(const ssl_st* ssl, const Digest& authority, WallTime now);

/// Why a handshake failed, for the person who set up the certificates: "its certificate is not taken: certificate has
/// expired". `error`: of OpenSSL's queue.
[[nodiscard]] std::string reason_of(const ssl_st* ssl, unsigned long error);

}  // namespace weir::transport
