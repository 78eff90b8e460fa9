// SPDX-License-Identifier: Apache-2.0
// A machine becomes a part of a partition, and stays one: it makes its key in memory, sends a request for a certificate
// to the port for joins of run control, and later, with the certificate that it has, to run control itself.
#pragma once

#include <chrono>
#include <string>

#include "weir/base/clock.hpp"
#include "weir/base/result.hpp"
#include "weir/service/control_access.hpp"
#include "weir/service/control_client.hpp"
#include "weir/service/join_token.hpp"
#include "weir/transport/certificate.hpp"

namespace weir::service {

struct HostCertificate {
    std::string host{};
    std::string certificate{}, authority{};  // PEM
};

/// The answer to a request for `key`: Errc::corrupt, it is not a certificate of that key that its authority signed.
[[nodiscard]] Result<HostCertificate> parse_host_certificate(std::string_view json, const transport::PublicKey& key,
                                                             WallTime now);

/// Sends nothing before who answers at `address` ("192.168.10.5:9401") has shown a certificate of an operator, signed
/// by the authority whose fingerprint is in the token. `host`: what this machine should be called; empty: as the token
/// says. Waits up to the deadline. Error: io (no such port), refused (by whom, and why: the authority is another one,
/// the token was used, has ended, is for another host).
[[nodiscard]] Result<HostCertificate> join(const std::string& address, const JoinToken& token,
                                           const transport::PrivateKey& key, const std::string& host,
                                           const Clock& clock,
                                           std::chrono::milliseconds deadline = std::chrono::seconds{30});

/// A fresh certificate for the same host and key, from run control's port; `client` shows the one that there is.
[[nodiscard]] Result<HostCertificate> renew(const ControlClient& client, const transport::PrivateKey& key,
                                            const std::string& host, const Clock& clock,
                                            std::chrono::milliseconds deadline = std::chrono::seconds{30});

}  // namespace weir::service
