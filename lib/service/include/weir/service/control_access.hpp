// SPDX-License-Identifier: Apache-2.0
// Who may ask a control port, and what. Under mutual TLS a certificate names a person or a program, and gives it a
// role: by an organizational unit of its subject (OU, RFC 4519) "weir-operator", "weir-station" or "weir-reader", or
// because its name is listed. The partition's own key is an operator's. A certificate of the authority without
// a role may nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/result.hpp"
#include "weir/transport/tls.hpp"

namespace weir::service {

enum class Role : std::uint8_t {
    reader,     // asks (GET)
    station,    // of the partition; asks
    operation,  // "operator": asks and commands (POST)
};
[[nodiscard]] const char* name(Role role) noexcept;
/// The organizational unit of a certificate that gives it: "weir-station".
[[nodiscard]] std::string unit_of(Role role);

struct ControlAccess {
    transport::TlsFiles tls{};             // ours, and the authority of who asks
    std::vector<std::string> operators{};  // names of certificates that do not say their role themselves
    std::vector<std::string> readers{};
};

/// What the certificate of who asks gives it; the highest, if several.
[[nodiscard]] std::optional<Role> role_of(const transport::TlsPeer& peer, const ControlAccess& access);

/// What may be done with the role, if any: nothing, or the reason for the one who may not. `command`: it would change
/// something.
[[nodiscard]] std::optional<std::string> forbidden(const transport::TlsPeer& peer, std::optional<Role> role,
                                                   bool command);

}  // namespace weir::service
