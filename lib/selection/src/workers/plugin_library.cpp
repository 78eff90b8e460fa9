// SPDX-License-Identifier: Apache-2.0
#include "workers/plugin_library.hpp"

#include "weir/plugin/library.hpp"
#include "weir/plugin/thrown_by.hpp"
#include "weir/selection/selector.hpp"

namespace weir::selection {

Result<SelectFunction*> load_library(const std::filesystem::path& path) {
    constexpr plugin::LibraryKind kind{.name = "selection", .symbol = "weir_selection", .macro = "WEIR_SELECTION"};
    const auto* face = static_cast<const LibraryFace*>(WEIR_TRY(plugin::load_library(path, kind)));
    const LibraryFace ours{};
    if (face->version != ours.version || face->event_size != ours.event_size ||
        face->decision_size != ours.decision_size || face->select == nullptr)
        return plugin::built_against_another_weir(path, kind);
    return face->select;
}

Result<Decision> call_selection(const std::function<SelectFunction>& function, RequestedFragments& event) {
    Decision decision;
    const auto thrown = plugin::thrown_by([&] { function(event.event(), decision); });
    if (thrown) return fail(Errc::refused, *thrown);
    WEIR_TRY(event.within_limits());
    WEIR_TRY(check_decision(decision));
    return decision;
}

}  // namespace weir::selection
