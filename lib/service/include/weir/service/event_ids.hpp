// SPDX-License-Identifier: Apache-2.0
// Which events a station accounts for, by global id: what was accepted, rejected, unfinished, recorded. Bounded: beyond
// the bound nothing is known any more.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "weir/base/bytes.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/wire/event_id_set.hpp"

namespace weir::service {

class EventIds {
public:
    /// Enough for 10^8 events of which a selection rejected any part at random.
    static constexpr Bytes memory_default = 512_MiB;

    explicit EventIds(Bytes memory_max = memory_default) : memory_max_(memory_max.count()) {}
    explicit EventIds(wire::EventIdSet ids, Bytes memory_max = memory_default);

    void insert(GlobalEventId id);

    /// False: they would take more memory than they may. All else answers "none" then.
    [[nodiscard]] bool known() const noexcept { return known_; }
    [[nodiscard]] bool empty() const noexcept { return ids_.empty(); }
    [[nodiscard]] std::uint64_t count() const noexcept { return ids_.count(); }

    /// In the short form of docs/formats/event-ids.md; "" when empty.
    [[nodiscard]] std::string text() const { return to_text(ids_); }
    /// For people: "1-40,42", with ",..." behind so many ranges.
    [[nodiscard]] std::string ranges(std::size_t at_most) const { return ranges_text(ids_, at_most); }
    /// Either of them.
    [[nodiscard]] static Result<EventIds> parse(std::string_view text, Bytes memory_max = memory_default);

    [[nodiscard]] EventIds operator|(const EventIds& other) const { return EventIds(*this) |= other; }
    [[nodiscard]] EventIds operator&(const EventIds& other) const { return EventIds(*this) &= other; }
    [[nodiscard]] EventIds operator-(const EventIds& other) const { return EventIds(*this) -= other; }
    EventIds& operator|=(const EventIds& other);
    EventIds& operator&=(const EventIds& other);
    EventIds& operator-=(const EventIds& other);
    bool operator==(const EventIds& other) const { return known_ == other.known_ && ids_ == other.ids_; }

private:
    EventIds& bounded(bool others_known = true);

    wire::EventIdSet ids_;
    std::size_t memory_max_;
    bool known_ = true;
};

/// Which events of a run a station means, by what became of them: "accepted" (supervisor, DFM), "rejected", "refused",
/// "failed", "given up" (DFM), "recorded" (recorder). What is not there is not known.
using StationEvents = std::map<std::string, EventIds>;

/// A line each: the word, a tab, the ids. Sets that are not known are left out.
[[nodiscard]] std::string to_text(const StationEvents& events);
/// Errc::corrupt; Errc::limit: more than eight lines, or more ids than `memory_max` for each holds.
[[nodiscard]] Result<StationEvents> parse_station_events(std::string_view text,
                                                         Bytes memory_max = EventIds::memory_default);

}  // namespace weir::service
