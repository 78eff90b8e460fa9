// SPDX-License-Identifier: Apache-2.0
// How a machine gets a certificate of the partition's own authority: with a join token at a port that asks for no
// certificate (POST /join), and from then on with the one it has at run control's port (POST /renew). What stands in it
// is decided here: the host's name is that of the token, or of the certificate that it has; its role is that of a
// station; of its request only the key is taken.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/report.hpp"
#include "weir/service/http_server.hpp"
#include "weir/service/join_tokens.hpp"
#include "weir/transport/authority.hpp"

namespace weir::service {

inline constexpr std::chrono::hours host_certificate_validity{24 * 7};
inline constexpr std::uint32_t wrong_tokens_max = 10;                        // of one address within
inline constexpr std::chrono::seconds wrong_tokens_window{60};               // after which it may try again
inline constexpr std::chrono::milliseconds default_wrong_token_delay{1000};  // before the answer to a wrong one

/// Counts wrong tokens by the addresses that they came from. Any thread.
class WrongTokens {
public:
    explicit WrongTokens(const Clock& clock) : clock_(clock) {}
    void add(const std::string& address);
    /// It had too many lately.
    [[nodiscard]] bool too_many(const std::string& address) const;

private:
    struct Window {
        SteadyTime began{};
        std::uint32_t count = 0;
    };
    mutable std::mutex mutex_;
    std::map<std::string, Window> addresses_;  // at most 1024: those that began first make room
    const Clock& clock_;
};

struct JoinParts {
    transport::Authority authority;
    std::vector<std::string> listed{};         // names that have a role in [security]: no host may have one of them
    std::shared_ptr<const JoinTokens> tokens;  // shared by the routes that are made of this
    Reporter report{};
    const Clock& clock;
    std::chrono::milliseconds wrong_token_delay = default_wrong_token_delay;
};

/// A certificate for a host: Errc::usage, it is a name that [security] lists, or none of a host.
[[nodiscard]] Result<transport::Certificate> sign_host(const JoinParts& parts, const transport::PublicKey& key,
                                                       const std::string& host, const std::string& address);

/// For a port of its own: options with `access` and `anyone`, and room for small requests only.
[[nodiscard]] std::vector<HttpRoute> join_routes(const JoinParts& parts);
[[nodiscard]] HttpServerOptions join_options(const std::string& listen, const ControlAccess& access);

/// For run control's port.
[[nodiscard]] HttpRoute renew_route(const JoinParts& parts);

}  // namespace weir::service
