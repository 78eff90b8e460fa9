// SPDX-License-Identifier: Apache-2.0
// What a readout and a process that runs a front-end send each other beside the messages of
// weir/plugin/plug_in_messages.hpp. The Python end is lib/readout/python/weir_front_end_worker.py. All little-endian.
//
// To the process:
//   begin_run  its words: the sources
//   triggers   for each: u32 level-1 id, u32 type, i64 time in ns
// Back:
//   records    of fragments
//   done       u32: so many more triggers were read out
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/base/result.hpp"
#include "weir/plugin/plug_in_messages.hpp"
#include "weir/readout/front_end.hpp"

namespace weir::readout {

enum class ToFrontEnd : std::uint32_t { triggers = static_cast<std::uint32_t>(plugin::ToPlugIn::own) };
enum class FromFrontEnd : std::uint32_t { done = static_cast<std::uint32_t>(plugin::FromPlugIn::own) };

inline constexpr std::size_t front_end_payload_max = 64U << 20;  // one fragment
inline constexpr plugin::MessageLimits front_end_limits{.kind_max = static_cast<std::uint32_t>(FromFrontEnd::done),
                                                        .size_max = front_end_payload_max + 4096};

void write_triggers(std::span<const Trigger> triggers, std::vector<std::byte>& to);
/// Errc::truncated.
[[nodiscard]] Result<> read_triggers(ConstData body, std::vector<Trigger>& into);

}  // namespace weir::readout
