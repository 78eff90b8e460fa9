// SPDX-License-Identifier: Apache-2.0
// What the recorder does with an event that it has already, or has in hand, from another sender (unique_events).
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "recording.hpp"

namespace weir::recorder {
namespace {

constexpr const char* stored_already = "it is stored already, from another sender";

}  // namespace

std::optional<delivery::Taken> Recording::look_for_duplicate(delivery::IncomingEvent& event,
                                                             const std::vector<StreamEntry*>& entries,
                                                             std::uint64_t& streams, UniqueEvents::Left& left) {
    const auto id = event.meta.global_id;
    std::uint64_t these = 1;  // which streams in which order; the low bit keeps it from being 0
    for (const auto* entry : entries)
        these = std::rotl((these ^ reinterpret_cast<std::uintptr_t>(entry)) * 0x9e3779b97f4a7c15ULL, 29) | 1;
    while (true) {
        switch (unique_.take(id, these, left)) {
            case UniqueEvents::Found::nothing: {
                streams = these;
                if (left.streams == these) return std::nullopt;
                left.state = {};  // of other streams, and then all of it is stored; or of a recorder that died
                for (std::size_t i = 0; i < entries.size() && !left.stored_in.empty(); ++i) {
                    if (std::ranges::find(left.stored_in, stream_key(event.meta.tags[i])) != left.stored_in.end())
                        left.state.taken |= std::uint64_t{1} << i;
                }
                return std::nullopt;
            }
            case UniqueEvents::Found::durable: return reject(event, wire::RejectReason::duplicate, stored_already);
            case UniqueEvents::Found::unchecked:
                if (!unchecked_said_.exchange(true))
                    reports_.alarm(
                        "unique events",
                        fmt::format("event {}: the ids of {} events of this run take all of unique_memory_max ({}); "
                                    "others are taken from here on without looking whether they are stored "
                                    "already; give the next run more",
                                    number(id), unique_.stored_count(), to_string(options_.unique_memory_max)));
                return std::nullopt;
            case UniqueEvents::Found::in_hand: break;
        }
        UniqueEvents::Duplicate duplicate{number(event.session), event.meta.sequence, {}};
        for (const auto* entry : entries) duplicate.ledgers.push_back(&entry->stream->ledger());
        copies_in_hand_.fetch_add(1);  // so that those who wait are bounded too; first, as it may be answered at once
        if (unique_.wait(id, these, std::move(duplicate))) {
            const auto let_go = std::move(event);
            return delivery::Taken::yes;
        }
        no_longer_in_hand(1);
    }
}

void Recording::reject_duplicates(const std::vector<UniqueEvents::Duplicate>& duplicates) {
    if (duplicates.empty()) return;
    for (const auto& duplicate : duplicates) {
        for (auto* ledger : duplicate.ledgers) {
            ledger->received();
            ledger->rejected(wire::RejectReason::duplicate);
            held_.count(*ledger, wire::RejectReason::duplicate);
        }
        hold_rejection({delivery::SessionId{duplicate.session}, duplicate.sequence}, wire::RejectReason::duplicate,
                       stored_already);
    }
    no_longer_in_hand(duplicates.size());
}

void Recording::ask_again(const std::vector<UniqueEvents::Duplicate>& duplicates,
                          std::vector<delivery::Answer>& again) {
    if (duplicates.empty()) return;
    for (const auto& duplicate : duplicates)
        again.push_back({delivery::SessionId{duplicate.session}, duplicate.sequence});
    no_longer_in_hand(duplicates.size());
}

}  // namespace weir::recorder
