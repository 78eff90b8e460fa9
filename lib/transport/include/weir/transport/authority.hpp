// SPDX-License-Identifier: Apache-2.0
// An authority of one partition: signs the certificates of its parts, machines and people, and no other authorities.
// What a certificate says is what the caller says; of a request only its key counts.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/result.hpp"
#include "weir/transport/certificate.hpp"

namespace weir::transport {

/// Whom a certificate is made out to.
struct Subject {
    std::string name;                  // common name, 1 to 64 characters
    std::string unit;                  // organizational unit, which says the role
    std::vector<std::string> hosts{};  // alternative names: addresses in numbers, and names of hosts
};

/// Copies share key and certificate; any thread.
class Authority {
public:
    /// A new one, for ten years, whose name says the partition's. It signs no authorities.
    [[nodiscard]] static Result<Authority> make(const std::string& partition, WallTime now);
    /// Error: corrupt, and the key is not that of the certificate.
    [[nodiscard]] static Result<Authority> read(std::string_view certificate, std::string_view key);

    /// A certificate for servers and clients. It begins five minutes before `now`, since clocks differ. Errc::usage: a
    /// name that none can have.
    [[nodiscard]] Result<Certificate> sign(const PublicKey& key, const Subject& subject, WallTime now,
                                           std::chrono::seconds validity) const;
    [[nodiscard]] const Certificate& certificate() const noexcept { return certificate_; }
    [[nodiscard]] const PrivateKey& key() const noexcept { return key_; }

private:
    Authority(Certificate certificate, PrivateKey key) : certificate_(std::move(certificate)), key_(std::move(key)) {}
    Certificate certificate_;
    PrivateKey key_;
};

}  // namespace weir::transport
