// SPDX-License-Identifier: Apache-2.0
// What a station shows of itself to programs that read objects: an event that passed by, and its numbers. The
// control port sends them in ROOT's bytes, object-wise (docs/formats/objects.md); ROOT, uproot and `weir cat` read
// them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/serial/describe.hpp"
#include "weir/service/control_messages.hpp"

namespace weir::service {

/// A ROB, word by word as it is in the event.
struct SampledFragment {
    std::uint32_t source = 0;
    std::vector<std::uint32_t> words{};

    bool operator==(const SampledFragment&) const = default;
};

struct SampledEvent {
    std::string station{};  // where it was seen
    std::uint64_t global_id = 0;
    std::uint32_t run = 0;
    std::uint32_t level1_id = 0;
    std::uint32_t lumi_block = 0;
    std::uint32_t seconds = 0, nanoseconds = 0;  // of the bunch crossing: Unix time
    std::vector<std::string> stream_tags{};      // "physics_Main"
    std::vector<std::uint32_t> level1_words{}, level2_words{}, filter_words{};
    std::vector<SampledFragment> fragments{};

    bool operator==(const SampledEvent&) const = default;
};

struct NamedNumber {
    std::string name{};
    double value = 0;

    bool operator==(const NamedNumber&) const = default;
};

/// A station's state, ledger and counters at one moment: the content of GET /status.
struct StationSnapshot {
    std::string station{}, kind{}, state{};
    double time = 0;        // Unix time, when it was taken
    std::int64_t run = -1;  // the latest that was started here; -1: none
    std::uint64_t received = 0, stored = 0, in_hand = 0;
    std::vector<NamedNumber> rejected{};  // by reason
    std::vector<NamedNumber> counters{};
    std::vector<std::string> alarms{};  // that are latched

    bool operator==(const StationSnapshot&) const = default;
};

[[nodiscard]] StationSnapshot snapshot_of(const StationReport& report, WallTime now);

}  // namespace weir::service

// The names of the classes are those that readers know. Members may be added at the end, with the next version.
template <>
inline constexpr auto weir::serial::description<weir::service::SampledFragment> =
    weir::serial::members("source", "words").class_name("weir::SampledFragment").version(1).grows_at_end();
template <>
inline constexpr auto weir::serial::description<weir::service::SampledEvent> =
    weir::serial::members("station", "global_id", "run", "level1_id", "lumi_block", "seconds", "nanoseconds",
                          "stream_tags", "level1_words", "level2_words", "filter_words", "fragments")
        .class_name("weir::SampledEvent")
        .version(1)
        .grows_at_end();
template <>
inline constexpr auto weir::serial::description<weir::service::NamedNumber> =
    weir::serial::members("name", "value").class_name("weir::NamedNumber").version(1).grows_at_end();
template <>
inline constexpr auto weir::serial::description<weir::service::StationSnapshot> =
    weir::serial::members("station", "kind", "state", "time", "run", "received", "stored", "in_hand", "rejected",
                          "counters", "alarms")
        .class_name("weir::StationSnapshot")
        .version(1)
        .grows_at_end();
