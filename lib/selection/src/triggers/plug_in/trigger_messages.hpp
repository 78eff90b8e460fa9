// SPDX-License-Identifier: Apache-2.0
// The messages between a supervisor and a process that runs a trigger plug-in, in the frame of
// weir/plugin/worker_message.hpp. The Python end is lib/selection/python/weir_trigger_worker.py. All little-endian.
//
// To the process:
//   begin_run  u32 run, u32 level-1 id of the next trigger, u32 poll_interval in us
//   credit     u64: so many triggers this process may send in all
//   end_run    nothing; credit is not looked at any more, and what is sent from now on is refused
// Back:
//   ready      nothing: the file is loaded
//   failed     u32 which call (TriggerCall), text: what it threw
//   begun      nothing: begin_run has returned
//   triggers   records (weir/wire/input_block.hpp), in the order in which they were sent
//   alive      nothing: it has nothing to send, or waits for credit, and does not hang
//   ended      nothing: end_run has returned
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/plugin/worker_message.hpp"

namespace weir::selection {

enum class ToTriggerPlugIn : std::uint32_t { begin_run = 1, credit, end_run };
enum class FromTriggerPlugIn : std::uint32_t { ready = 1, failed, begun, triggers, alive, ended };
enum class TriggerCall : std::uint32_t { load, begin_run, poll, end_run };
[[nodiscard]] const char* name(TriggerCall call) noexcept;

inline constexpr plugin::MessageLimits trigger_message_limits{.kind_max = 6, .size_max = 1U << 20};

struct BeginTriggers {
    RunNumber run{};
    Level1Id next{};
    std::chrono::microseconds poll_interval{};
};
void write_begin_triggers(const BeginTriggers& begin, std::vector<std::byte>& to);
[[nodiscard]] Result<BeginTriggers> read_begin_triggers(ConstData body);
void write_credit(std::uint64_t triggers, std::vector<std::byte>& to);
[[nodiscard]] Result<std::uint64_t> read_credit(ConstData body);

struct TriggerCallFailed {
    TriggerCall call{};
    std::string text{};
};
void write_failed(const TriggerCallFailed& failed, std::vector<std::byte>& to);
/// Errc::truncated, Errc::corrupt.
[[nodiscard]] Result<TriggerCallFailed> read_trigger_call_failed(ConstData body);

/// One without a body.
template <class Kind>
void write_nothing(Kind kind, std::vector<std::byte>& to) {
    plugin::write_message(static_cast<std::uint32_t>(kind), {}, to);
}

}  // namespace weir::selection
