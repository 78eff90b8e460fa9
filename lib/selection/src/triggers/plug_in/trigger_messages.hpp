// SPDX-License-Identifier: Apache-2.0
// What a supervisor and a process that runs a trigger plug-in send each other beside the messages of
// weir/plugin/plug_in_messages.hpp. The Python end is lib/selection/python/weir_trigger_worker.py. All little-endian.
//
// To the process:
//   begin_run  its word: the level-1 id of the next trigger
//   credit     u64: so many triggers this process may send in all. From end_run on it is not looked at any more, and
//              what is sent is refused
// Back:
//   records    of triggers
#pragma once

#include <cstdint>

#include "weir/plugin/plug_in_messages.hpp"

namespace weir::selection {

enum class ToTriggerPlugIn : std::uint32_t { credit = static_cast<std::uint32_t>(plugin::ToPlugIn::own) };

inline constexpr plugin::MessageLimits trigger_message_limits{
    .kind_max = static_cast<std::uint32_t>(plugin::FromPlugIn::records), .size_max = 1U << 20};

}  // namespace weir::selection
