// SPDX-License-Identifier: Apache-2.0
// The set of sequences of a session that have reached some state, kept as intervals: a session that runs in
// order costs one interval, whatever its length. "Cumulative" is the highest sequence below which
// nothing is missing; most acknowledgements consist of it.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"

namespace weir::wire {

/// Sequences are 1 to 2^63-1, so that the one after the last can always be written down.
inline constexpr std::uint64_t sequence_max = (std::uint64_t{1} << 63) - 1;

[[nodiscard]] constexpr bool valid(Sequence sequence) noexcept {
    return number(sequence) >= 1 && number(sequence) <= sequence_max;
}

struct SequenceRange {  // both ends belong to it
    Sequence first{};
    Sequence last{};

    auto operator<=>(const SequenceRange&) const = default;
    [[nodiscard]] std::uint64_t count() const noexcept { return number(last) - number(first) + 1; }
};

class SequenceSet {
public:
    SequenceSet() = default;

    /// True when it was not there before. `sequence` is valid().
    bool insert(Sequence sequence) { return insert(SequenceRange{sequence, sequence}) == 1; }
    /// How many were not there before. Both ends are valid() and in order.
    std::uint64_t insert(SequenceRange range);
    void merge(const SequenceSet& other);

    /// True when it was there.
    bool erase(Sequence sequence) { return erase(SequenceRange{sequence, sequence}) == 1; }
    /// How many were there.
    std::uint64_t erase(SequenceRange range);

    [[nodiscard]] bool contains(Sequence sequence) const noexcept { return count({sequence, sequence}) == 1; }
    /// How many of the range are there.
    [[nodiscard]] std::uint64_t count(SequenceRange range) const noexcept;
    [[nodiscard]] std::uint64_t count() const noexcept;
    [[nodiscard]] bool empty() const noexcept { return all_.empty(); }

    /// Everything from 1 up to here is in the set; 0 when 1 is not.
    [[nodiscard]] Sequence cumulative() const noexcept;
    /// The intervals above cumulative(), ascending, never touching. Valid until the next change.
    [[nodiscard]] std::span<const SequenceRange> ranges() const noexcept;
    /// All intervals, the one that begins at 1 included. Valid until the next change.
    [[nodiscard]] std::span<const SequenceRange> intervals() const noexcept { return all_; }
    [[nodiscard]] Sequence highest() const noexcept { return all_.empty() ? Sequence{0} : all_.back().last; }

    bool operator==(const SequenceSet&) const = default;

private:
    std::vector<SequenceRange> all_;
};

/// "1-40,42,50-51"; "" when empty.
[[nodiscard]] std::string to_string(const SequenceSet& set);
/// Reads that text, with at most `intervals_max` intervals, ascending. Error: Errc::corrupt or limit.
[[nodiscard]] Result<SequenceSet> parse_sequence_set(std::string_view text, std::size_t intervals_max = 65536);

}  // namespace weir::wire
