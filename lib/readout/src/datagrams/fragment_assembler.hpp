// SPDX-License-Identifier: Apache-2.0
// Makes whole fragments of datagrams that come in any order, twice, or not at all. No sockets and no threads: datagrams
// and the time are given to it. What waits for the rest of its parts is bounded in memory and time for each source, so
// none takes anything from another. Every datagram is counted once, by what came of it; a fragment that does not come
// is reported once a later one of its source has been here for a while.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <optional>
#include <vector>

#include "datagrams/counter_track.hpp"
#include "datagrams/datagram_part.hpp"
#include "weir/base/bytes.hpp"
#include "weir/base/clock.hpp"

namespace weir::readout {

struct FragmentAssemblerOptions {
    DatagramHeader header{};  // checked
    struct Source {
        SourceId id{};
        std::int32_t offset = 0;  // its counter, less the event's level-1 id
    };
    std::vector<Source> sources{};
    Level1Id first{1};                    // of the run
    Bytes memory{32ULL << 20};            // of unfinished fragments; each source has an equal share
    std::size_t unfinished_max = 64;      // of each source
    std::size_t gaps_max = 256;           // of each source, that are waited for
    std::chrono::milliseconds wait{500};  // for the other parts, and for a counter that was passed over
};

/// What came of a datagram that bears a valid header.
enum class DatagramFate : std::uint8_t {
    whole,           // a fragment was complete with it
    part,            // waits for the other parts of its fragment
    unknown_source,  // no source of this readout
    no_counter,      // one part of several, and no level-1 id to find the others by
    duplicate,       // it, or all of its fragment, has come already, or its fragment was given up
    late,            // its fragment is older than all that is remembered
    jumped,          // its counter is far ahead or behind, and no other datagram has confirmed that yet
    contradictory,   // not what the other parts of its fragment say
    too_large,       // its fragment is more than its source's share of memory
};
inline constexpr std::size_t datagram_fate_count = 9;
/// "whole", "unknown_source", ...
[[nodiscard]] const char* name(DatagramFate fate) noexcept;

struct AssemblerCounts {
    std::uint64_t datagrams = 0, bytes = 0;  // all that came
    std::array<std::uint64_t, datagram_fault_count> faults{};
    std::array<std::uint64_t, datagram_fate_count> fates{};
};

struct AssembledSourceCounts {
    SourceId source{};
    std::uint64_t datagrams = 0, fragments = 0;
    std::uint64_t lost = 0;             // fragments of which nothing came, by the counter
    std::uint64_t unfinished = 0;       // fragments that were given up with parts missing
    std::uint64_t duplicate_parts = 0;  // of fragments in several parts
    std::uint64_t disordered = 0, jumps = 0;
};

class FragmentAssembler {
public:
    struct Events {
        std::function<void(const wire::InputFragment&)> whole{};  // the payload for the call only
        /// Of a datagram with a whole fragment: duplicate, late, jumped, contradictory, or unknown_source.
        std::function<void(SourceId, DatagramFate)> refused{};
        /// Not, or not all of it, from `first` to `last`, as its source counts. One of them may still come, too late.
        std::function<void(SourceId, Level1Id first, Level1Id last)> never_came{};
        std::function<void(SourceId, Level1Id from, Level1Id)> jumped{};  // confirmed
    };

    FragmentAssembler(FragmentAssemblerOptions options, Events events);

    /// What came of it; counted.
    std::expected<DatagramFate, DatagramFault> take(ConstData datagram, SteadyTime now);
    /// Gives up what has waited too long. Returns when to call it again; nothing: nothing waits.
    std::optional<SteadyTime> step(SteadyTime now);
    /// Events before this one are done with: a counter that wraps is extended from here when its source has sent
    /// nothing since the last call.
    void reach(Level1Id oldest) noexcept;
    /// No more datagrams will come: gives up all that is unfinished.
    void finish();

    [[nodiscard]] const AssemblerCounts& counts() const noexcept { return counts_; }
    [[nodiscard]] std::vector<AssembledSourceCounts> sources() const;
    [[nodiscard]] std::size_t bytes_held() const noexcept;

private:
    struct Unfinished {
        std::uint32_t counter = 0;
        SteadyTime began{};
        std::optional<std::int64_t> time_ns{};
        wire::PayloadKind kind{};
        std::uint32_t missing = 0;
        std::size_t payload_bytes = 0;
        std::vector<std::optional<std::vector<std::byte>>> parts{};
        [[nodiscard]] std::size_t cost() const noexcept { return parts.size() * sizeof(parts[0]) + payload_bytes; }
    };
    struct Gap {
        SteadyTime since{};
        std::uint32_t first = 0, last = 0;  // of the counter, passed over
    };
    struct Source {
        std::uint32_t offset = 0;
        CounterTrack track;
        std::deque<Unfinished> unfinished{};  // the oldest first
        std::deque<Gap> gaps{};               // likewise
        std::size_t held = 0;
        std::uint64_t datagrams_before = 0;  // the last reach()
        AssembledSourceCounts counts{};
    };

    [[nodiscard]] Source* find(SourceId id) noexcept;
    [[nodiscard]] DatagramFate take(Source& source, const DatagramPart& part, SteadyTime now);
    [[nodiscard]] CounterStep count(Source& source, std::uint32_t counter, SteadyTime now);
    void close_gap(Source& source);
    [[nodiscard]] DatagramFate take_part(Source& source, const DatagramPart& part, std::uint32_t counter, bool seen,
                                         SteadyTime now);
    void deliver(Source& source, const DatagramPart& part, std::optional<std::uint32_t> counter, ConstData payload);
    void give_up(Source& source, std::deque<Unfinished>::iterator which);

    const FragmentAssemblerOptions options_;
    const Events events_;
    const std::size_t share_;      // of each source, in bytes
    std::vector<Source> sources_;  // sorted by id
    AssemblerCounts counts_;
    std::vector<std::byte> whole_;
};

}  // namespace weir::readout
