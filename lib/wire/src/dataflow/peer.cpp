// SPDX-License-Identifier: Apache-2.0
#include "weir/wire/peer.hpp"

namespace weir {

const char* name(StationKind kind) noexcept {
    switch (kind) {
        case StationKind::readout: return "readout";
        case StationKind::assign: return "assign";
        case StationKind::build: return "build";
        case StationKind::supervise: return "supervise";
        case StationKind::select: return "select";
        case StationKind::filter: return "filter";
        case StationKind::record: return "record";
        case StationKind::handoff: return "handoff";
        case StationKind::monitor: return "monitor";
    }
    return "unknown";
}

std::optional<StationKind> parse_station_kind(std::string_view text) noexcept {
    for (const auto kind : station_kinds) {
        if (text == name(kind)) return kind;
    }
    return std::nullopt;
}

}  // namespace weir
