// SPDX-License-Identifier: Apache-2.0
// What a recorder keeps in the catalogue of what it has promised, and what it learns from it when it goes on with a
// run.
#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "recording.hpp"
#include "weir/recovery/run_holdings.hpp"

namespace weir::recorder {

Result<> Recording::restore_promises() {
    auto holdings =
        WEIR_TRY(recovery::run_holdings(run_, options_.directories, *catalogue_, options_.recorder,
                                        options_.unique_events ? recovery::KeepEvents::yes : recovery::KeepEvents::no));
    for (const auto& [key, durable] : holdings.durable) {
        const auto session = number(receiver_->restore(key, durable));
        sessions_.restore(session, key, durable);
    }
    for (const auto& [event, taken] : holdings.partial) {
        const auto session = number(receiver_->restore(event.first, holdings.durable[event.first]));
        sessions_.restore(session, event.first, holdings.durable[event.first]);
        partial_.keep(session, event.second, {taken, nullptr, true});
    }
    if (holdings.events) unique_.restore(std::move(*holdings.events));
    return {};
}

std::vector<catalogue::SessionMark> Recording::take_changed_marks() {
    auto marks = sessions_.take_changed_marks(options_.recorder);
    if (!options_.unique_events) return marks;
    std::ranges::move(unique_.take_changed(run_, options_.recorder), std::back_inserter(marks));
    return marks;
}

std::optional<wire::EventIdSet> Recording::stored_events() const {
    if (!options_.unique_events || unique_.unchecked() > 0) return std::nullopt;
    return unique_.stored();
}

}  // namespace weir::recorder
