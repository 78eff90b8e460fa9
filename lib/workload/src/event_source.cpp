// SPDX-License-Identifier: Apache-2.0
#include "weir/workload/event_source.hpp"

namespace weir::workload {

GlobalEventId global_id_of(std::uint64_t n, GlobalEventId first) noexcept { return GlobalEventId{number(first) + n}; }

Level1Id level1_id_of(std::uint64_t n) noexcept { return Level1Id{static_cast<std::uint32_t>(n + 1)}; }

}  // namespace weir::workload
