// SPDX-License-Identifier: Apache-2.0
#include "monitor_library.hpp"

#include "weir/plugin/library.hpp"

namespace weir::monitor {

Result<MonitorFace> load_monitor(const std::filesystem::path& file) {
    constexpr plugin::LibraryKind kind{.name = "monitor", .symbol = "weir_monitor", .macro = "WEIR_MONITOR"};
    const auto* face = static_cast<const MonitorFace*>(WEIR_TRY(plugin::load_library(file, kind)));
    const MonitorFace ours{};
    if (face->version != ours.version || face->event_size != ours.event_size ||
        face->histogram_size != ours.histogram_size || face->make == nullptr)
        return plugin::built_against_another_weir(file, kind);
    return *face;
}

}  // namespace weir::monitor
