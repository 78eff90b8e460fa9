// SPDX-License-Identifier: Apache-2.0
#include "send/sources/event_source.hpp"

namespace weir::app {

wire::EventFormat to_wire(event::Format format) noexcept {
    switch (format) {
        case event::Format::event_5_0:
            return wire::EventFormat::event_5_0;
        case event::Format::event_3_0:
            return wire::EventFormat::event_3_0;
        case event::Format::opaque:
            break;
    }
    return wire::EventFormat::opaque;
}

GlobalEventId global_id_of(std::uint64_t n, GlobalEventId first) noexcept { return GlobalEventId{number(first) + n}; }

Level1Id level1_id_of(std::uint64_t n) noexcept { return Level1Id{static_cast<std::uint32_t>(n + 1)}; }

}  // namespace weir::app
