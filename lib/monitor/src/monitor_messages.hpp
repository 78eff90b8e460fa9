// SPDX-License-Identifier: Apache-2.0
// What a station and a process that runs a monitor send each other beside the messages of
// weir/plugin/plug_in_messages.hpp. The Python end is lib/monitor/python/weir_monitor_worker.py. All little-endian; a
// text is u32 size and so many bytes.
//
// To the process:
//   event      u64 global id; u32 run, level-1 id, lumi block, bunch crossing, trigger type, seconds, nanoseconds,
//              fragments; for each of them u32 source, status, position and size of the ROB, position and size of its
//              data, positions from the beginning of the payload; the payload. It is answered by `seen`
// Back:
//   seen       nothing: the call for the event has returned, or thrown, which was sent before
//   histogram  texts: name, title, x title, y title, title of the values; for each axis u32 bins, u32 edges (0 or one
//              more), f64 low, f64 high, f64 for each edge; f64 entries, seven sums in the order of HistogramSums;
//              u32 1: with squares; f64 for each cell, and as many squares. As it is now: it takes the place of the one
//              before
//   counters   u32 how many; for each text name, f64 value. All of them
#pragma once

#include <vector>

#include "weir/monitor/monitor.hpp"
#include "weir/plugin/plug_in_messages.hpp"

namespace weir::monitor {

enum class ToMonitor : std::uint32_t { event = static_cast<std::uint32_t>(plugin::ToPlugIn::own) };
enum class FromMonitor : std::uint32_t {
    seen = static_cast<std::uint32_t>(plugin::FromPlugIn::own),
    histogram,
    counters
};
inline constexpr plugin::MessageLimits monitor_message_limits{
    .kind_max = static_cast<std::uint32_t>(FromMonitor::counters), .size_max = 32U << 20};

/// Its fragments and their data lie in its payload.
void write_event(const Event& event, std::vector<std::byte>& to);
/// Its parts lie in `body` and `fragments`. Errors: Errc::truncated, Errc::corrupt.
[[nodiscard]] Result<Event> read_event(ConstData body, std::vector<Fragment>& fragments);

void write_histogram(const Histogram& histogram, std::vector<std::byte>& to);
/// Of any bytes: the plug-in may have damaged its memory. The result is within HistogramLimits.
[[nodiscard]] Result<Histogram> read_histogram(ConstData body);

void write_counters(std::span<const Counter* const> counters, std::vector<std::byte>& to);
[[nodiscard]] Result<std::vector<Counter>> read_counters(ConstData body);

}  // namespace weir::monitor
