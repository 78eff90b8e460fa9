// SPDX-License-Identifier: Apache-2.0
// Keys, requests and certificates (X.509) as values in memory, and as PEM text: what an authority signs, and what a
// TlsContext reads as files. Keys are of the curve P-256. Text from outside is limited in size, and one line of error
// says what is wrong with it.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/data.hpp"
#include "weir/base/result.hpp"

struct evp_pkey_st;  // OpenSSL's EVP_PKEY
struct x509_st;      // and X509

namespace weir::transport {

inline constexpr std::size_t pem_size_max = 16 * 1024;  // of one key or request

/// "2026-11-27 02:14:07 UTC", as people read when a certificate ends.
[[nodiscard]] std::string utc_text(WallTime time);

/// SHA-256.
using Digest = std::array<std::byte, 32>;
[[nodiscard]] Digest sha256(std::string_view bytes);
/// Bytes for secrets, of the system. Error: it has none.
[[nodiscard]] Result<std::string> random_secret(std::size_t size);
/// Takes as long wherever two texts of one size differ.
[[nodiscard]] bool same_secret(std::string_view a, std::string_view b) noexcept;

/// Copies share it; any thread.
class PublicKey {
public:
    explicit PublicKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}
    /// Its bytes (SubjectPublicKeyInfo in DER), by which two keys are compared.
    [[nodiscard]] std::string bytes() const;
    [[nodiscard]] evp_pkey_st* native() const noexcept { return key_.get(); }

private:
    std::shared_ptr<evp_pkey_st> key_;  // shared by copies
};

/// Copies share it; any thread.
class PrivateKey {
public:
    /// A new one. Error: the system has no random numbers.
    [[nodiscard]] static Result<PrivateKey> make();
    [[nodiscard]] static Result<PrivateKey> read(std::string_view pem);
    /// Not encrypted (PKCS#8): for write_pem with Readable::by_owner, and nothing else.
    [[nodiscard]] Result<std::string> pem() const;
    [[nodiscard]] PublicKey public_key() const { return PublicKey(key_); }
    /// A request (PKCS#10) for a certificate of this key, signed with it.
    [[nodiscard]] Result<std::string> request(const std::string& name) const;
    [[nodiscard]] evp_pkey_st* native() const noexcept { return key_.get(); }

private:
    explicit PrivateKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}
    std::shared_ptr<evp_pkey_st> key_;  // shared by copies
};

/// The key that a request is about. Who sent it has that key: the request is signed with it. Nothing else is taken from
/// a request: names and roles in it are wishes.
[[nodiscard]] Result<PublicKey> key_of_request(std::string_view pem);

/// Copies share it; any thread.
class Certificate {
public:
    /// The first in the text, which may have others behind it.
    [[nodiscard]] static Result<Certificate> read(std::string_view pem);
    explicit Certificate(std::shared_ptr<x509_st> certificate) : certificate_(std::move(certificate)) {}

    [[nodiscard]] Result<std::string> pem() const;
    /// SHA-256 of the certificate as it is sent (openssl x509 -fingerprint -sha256).
    [[nodiscard]] Digest fingerprint() const;
    [[nodiscard]] WallTime begins() const;
    [[nodiscard]] WallTime ends() const;
    /// Common names, then alternative names for hosts.
    [[nodiscard]] std::vector<std::string> names() const;
    [[nodiscard]] std::vector<std::string> units() const;
    [[nodiscard]] PublicKey public_key() const;
    /// It is made out for this address (numbers), by an alternative name.
    [[nodiscard]] bool is_for_address(const std::string& address) const;
    [[nodiscard]] x509_st* native() const noexcept { return certificate_.get(); }

private:
    std::shared_ptr<x509_st> certificate_;  // shared by copies
};

/// Why nobody who believes `authority` (PEM, one or several) would believe `certificate` (PEM, with those between them
/// behind it) at that time; nothing: he would, as a server and as a client.
[[nodiscard]] Result<> check_chain(std::string_view certificate, std::string_view authority, WallTime now);

enum class Readable { by_owner, by_all };  // 0600 from the first moment on, or 0644
/// Writes a file as a whole, durably, or leaves what was there.
[[nodiscard]] Result<> write_pem(const std::filesystem::path& path, std::string_view text, Readable readable);

}  // namespace weir::transport
