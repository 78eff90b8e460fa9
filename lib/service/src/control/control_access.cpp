// SPDX-License-Identifier: Apache-2.0
#include "weir/service/control_access.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weir::service {
namespace {

constexpr std::array roles{Role::operation, Role::station, Role::reader};  // the highest first

bool any_of(const std::vector<std::string>& names, const std::vector<std::string>& listed) {
    return std::ranges::find_first_of(names, listed) != names.end();
}

}  // namespace

const char* name(Role role) noexcept {
    switch (role) {
        case Role::reader: return "reader";
        case Role::station: return "station";
        case Role::operation: return "operator";
    }
    return "?";
}

std::string unit_of(Role role) { return fmt::format("weir-{}", name(role)); }

std::optional<Role> role_of(const transport::TlsPeer& peer, const ControlAccess& access) {
    if (peer.ours || any_of(peer.names, access.operators)) return Role::operation;
    for (const auto role : roles) {
        if (std::ranges::find(peer.units, unit_of(role)) != peer.units.end()) return role;
    }
    return any_of(peer.names, access.readers) ? std::optional(Role::reader) : std::nullopt;
}

std::optional<std::string> forbidden(const transport::TlsPeer& peer, std::optional<Role> role, bool command) {
    const auto who = peer.names.empty() ? "a certificate without a name" : "the certificate of " + peer.names.front();
    if (!role)
        return fmt::format(
            "{} gives no role here; list its name in [security] (operators or readers), or have it made with the "
            "organizational unit weir-operator or weir-reader",
            who);
    if (command && *role != Role::operation)
        return fmt::format("{} gives the role {}, and a command needs the role operator", who, name(*role));
    return std::nullopt;
}

}  // namespace weir::service
