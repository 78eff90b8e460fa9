// SPDX-License-Identifier: Apache-2.0
// Settlement of an event that the recorder has already, or has in hand, from another sender (unique_events).
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "settlement/settlement.hpp"
#include "weir/base/stream_tag.hpp"

namespace weir::recorder {
namespace {

constexpr const char* stored_already = "it is stored already, from another sender";

/// Which streams in which order; the low bit keeps it from being 0.
std::uint64_t identity_of(std::span<Ledger* const> ledgers) {
    std::uint64_t these = 1;
    for (const auto* ledger : ledgers)
        these = std::rotl((these ^ reinterpret_cast<std::uintptr_t>(ledger)) * 0x9e3779b97f4a7c15ULL, 29) | 1;
    return these;
}

}  // namespace

/// False: the event is taken now, and `left` is what of it is there.
bool Settlement::is_duplicate(delivery::IncomingEvent& event, std::span<Ledger* const> ledgers, std::uint64_t& streams,
                              UniqueEvents::Left& left) {
    const auto id = event.meta.global_id;
    const auto these = identity_of(ledgers);
    while (true) {
        switch (unique_.take(id, these, left)) {
            case UniqueEvents::Found::nothing: {
                streams = these;
                if (left.streams == these) return false;
                left.state = {};  // of other streams, and then all of it is stored; or of a recorder that died
                for (std::size_t i = 0; i < ledgers.size() && !left.stored_in.empty(); ++i) {
                    if (std::ranges::find(left.stored_in, stream_key(event.meta.tags[i])) != left.stored_in.end())
                        left.state.taken |= std::uint64_t{1} << i;
                }
                return false;
            }
            case UniqueEvents::Found::durable:
                reject(event, ledgers, wire::RejectReason::duplicate, stored_already);
                return true;
            case UniqueEvents::Found::unchecked:
                if (!unchecked_reported_.exchange(true, std::memory_order_relaxed))
                    reports_.alarm(
                        "unique events",
                        fmt::format("event {}: the ids of {} events of this run take all of unique_memory_max ({}); "
                                    "others are taken from here on without looking whether they are stored "
                                    "already; give the next run more",
                                    number(id), unique_.stored_count(), to_string(options_.unique_memory_max)));
                return false;
            case UniqueEvents::Found::in_hand: break;
        }
        UniqueEvents::Duplicate duplicate{number(event.session), event.meta.sequence, {ledgers.begin(), ledgers.end()}};
        copies_in_hand_.fetch_add(1);  // so that those who wait are bounded too; first, as it may be answered at once
        if (unique_.wait(id, these, std::move(duplicate))) {
            const auto released = std::move(event);
            return true;
        }
        no_longer_in_hand(1);
    }
}

void Settlement::reject_duplicates(const std::vector<UniqueEvents::Duplicate>& duplicates) {
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

void Settlement::return_duplicates(const std::vector<UniqueEvents::Duplicate>& duplicates,
                                   std::vector<delivery::Answer>& again) {
    if (duplicates.empty()) return;
    for (const auto& duplicate : duplicates)
        again.push_back({delivery::SessionId{duplicate.session}, duplicate.sequence});
    no_longer_in_hand(duplicates.size());
}

}  // namespace weir::recorder
