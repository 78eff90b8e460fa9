// SPDX-License-Identifier: Apache-2.0
// Which events a station accounts for, by global id: what was accepted, rejected, given up, recorded. Kept as intervals, so
// that ids which come nearly in order cost next to nothing, and bounded: beyond the bound nothing is known any more.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/wire/sequence_set.hpp"

namespace weir {

class EventIds {
public:
    static constexpr std::size_t intervals_max = 65'536;

    EventIds() = default;
    /// From a set of sequences, each one higher than its id.
    explicit EventIds(wire::SequenceSet one_higher);

    /// Ids above 2^63-2 cannot be kept: nothing is known then.
    void insert(GlobalEventId id);

    /// False: there were too many intervals. All else says "none" then.
    [[nodiscard]] bool known() const noexcept { return known_; }
    [[nodiscard]] bool empty() const noexcept { return ids_.empty(); }
    [[nodiscard]] std::uint64_t count() const noexcept { return ids_.count(); }

    /// "1-40,42"; "" when empty.
    [[nodiscard]] std::string text() const;
    [[nodiscard]] static Result<EventIds> parse(std::string_view text);

    [[nodiscard]] EventIds operator|(const EventIds& other) const;
    [[nodiscard]] EventIds operator&(const EventIds& other) const;
    [[nodiscard]] EventIds operator-(const EventIds& other) const;
    bool operator==(const EventIds&) const = default;

private:
    void bound();
    wire::SequenceSet ids_;
    bool known_ = true;
};

}  // namespace weir
