// SPDX-License-Identifier: Apache-2.0
// What a machine needs to become a part of a partition, once: a secret that one host name was reserved under, and the
// fingerprint of the authority, so that it gives the secret to nobody else. One line of text, base64url (RFC 4648, 5)
// without padding of: version (1), secret (16 bytes), SHA-256 of the authority's certificate (32 bytes).
#pragma once

#include <string>
#include <string_view>

#include "weir/base/result.hpp"
#include "weir/transport/certificate.hpp"

namespace weir::service {

struct JoinToken {
    std::string secret{};  // join_secret_size bytes; in no log, argument or environment
    transport::Digest authority{};

    [[nodiscard]] std::string text() const;
    bool operator==(const JoinToken&) const = default;
};
inline constexpr std::size_t join_secret_size = 16;

/// A new one. Error: the system has no random numbers.
[[nodiscard]] Result<JoinToken> make_join_token(const transport::Digest& authority);

/// Blanks and ends of lines around it do not matter. The error does not repeat the text.
[[nodiscard]] Result<JoinToken> parse_join_token(std::string_view text);

/// What a machine asks for: POST /join.
struct JoinRequest {
    JoinToken token{};
    std::string request{};  // for a certificate, in PEM
    std::string host{};     // as the machine is called; empty: as the token says
};
[[nodiscard]] Result<JoinRequest> parse_join_request(std::string_view json);
[[nodiscard]] std::string to_json(const JoinRequest& request);

/// A name of a host in tokens and certificates: letters, digits, '-', '_' and '.', at most 63, and begins with a letter
/// or digit. Errc::usage.
[[nodiscard]] Result<> check_host_name(std::string_view name);

}  // namespace weir::service
