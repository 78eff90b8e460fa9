// SPDX-License-Identifier: Apache-2.0
// The messages between a readout and a process that runs a front-end, in the frame of weir/plugin/worker_message.hpp.
// The Python end is lib/readout/python/weir_front_end_worker.py. All little-endian.
//
// To the process:
//   begin_run  u32 run, u32 poll_interval in us, u32 for each source
//   triggers   for each: u32 level-1 id, u32 type, i64 time in ns
//   end_run    nothing
// Back:
//   ready      u32: 1 it polls, 2 it reads out on request; the file is loaded
//   failed     u32 which call (Call), u32 level-1 id of the trigger, text: what it threw
//   begun      nothing: begin_run has returned
//   fragments  records (weir/wire/input_block.hpp), in the order in which they were sent
//   done       u32: so many more triggers were read out
//   alive      nothing: it has nothing to send, and does not hang
//   ended      nothing: end_run has returned, and all fragments were sent before
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/plugin/worker_message.hpp"
#include "weir/readout/front_end.hpp"

namespace weir::readout {

enum class ToFrontEnd : std::uint32_t { begin_run = 1, triggers = 2, end_run = 3 };
enum class FromFrontEnd : std::uint32_t { ready = 1, failed, begun, fragments, done, alive, ended };
enum class Call : std::uint32_t { load, begin_run, poll, read_out, end_run };
[[nodiscard]] const char* name(Call call) noexcept;

inline constexpr plugin::MessageLimits front_end_limits{.kind_max = 7, .size_max = (64U << 20) + 4096};
inline constexpr std::size_t front_end_payload_max = 64U << 20;  // one fragment
inline constexpr std::size_t front_end_block = 64U << 10;        // fragments are sent when they are so many bytes

struct BeginRun {
    RunNumber run{};
    std::chrono::microseconds poll_interval{};
    std::vector<SourceId> sources{};
};
void write_begin_run(const BeginRun& begin, std::vector<std::byte>& to);
void write_triggers(std::span<const Trigger> triggers, std::vector<std::byte>& to);
void write_end_run(std::vector<std::byte>& to);

[[nodiscard]] Result<BeginRun> read_begin_run(ConstData body);
[[nodiscard]] Result<> read_triggers(ConstData body, std::vector<Trigger>& into);

struct Failed {
    Call call{};
    Level1Id trigger{};
    std::string text{};
};
void write_failed(const Failed& failed, std::vector<std::byte>& to);
[[nodiscard]] Result<Failed> read_failed(ConstData body);
void write_number(FromFrontEnd kind, std::uint32_t number, std::vector<std::byte>& to);
[[nodiscard]] Result<std::uint32_t> read_number(ConstData body);

}  // namespace weir::readout
