// SPDX-License-Identifier: Apache-2.0
#include "triggers/plug_in/trigger_library.hpp"

#include "weir/plugin/library.hpp"

namespace weir::selection {

Result<TriggerPlugInFace> load_trigger_plug_in(const std::filesystem::path& file) {
    constexpr plugin::LibraryKind kind{
        .name = "trigger plug-in", .symbol = "weir_trigger_plug_in", .macro = "WEIR_TRIGGER_PLUG_IN"};
    const auto* face = static_cast<const TriggerPlugInFace*>(WEIR_TRY(plugin::load_library(file, kind)));
    const TriggerPlugInFace ours{};
    if (face->version != ours.version || face->trigger_size != ours.trigger_size || face->make == nullptr)
        return plugin::built_against_another_weir(file, kind);
    return *face;
}

}  // namespace weir::selection
