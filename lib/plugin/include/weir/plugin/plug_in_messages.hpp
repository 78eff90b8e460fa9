// SPDX-License-Identifier: Apache-2.0
// The messages between a station and a process that runs a plug-in for a run, in the frame of worker_message.hpp. Each
// kind of plug-in has some of its own beside them. The Python end is lib/plugin/python/weir_worker.py. All
// little-endian.
//
// To the process:
//   begin_run  u32 run, u32 poll_interval in us, u32 for each word that its kind of plug-in is given
//   end_run    nothing
//   own        from this kind on: of its kind of plug-in
// Back:
//   ready      u32 what it has: 1 poll, 2 read_out; the file is loaded
//   failed     u32 which call (Call), u32 level-1 id of the trigger that it was for, text: what it threw
//   begun      nothing: begin_run has returned
//   alive      nothing: it has nothing to send, or waits until it may, and does not hang
//   ended      nothing: end_run has returned, and all was sent before
//   records    records (weir/wire/input_block.hpp), in the order in which they were sent
//   own        from this kind on: of its kind of plug-in
// In the shared memory, from begin_run on: u32, the call that goes on (Call). So one that hangs can be named.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <string>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/base/endian.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/plugin/worker_message.hpp"

namespace weir::plugin {

enum class ToPlugIn : std::uint32_t { begin_run = 1, end_run, own };
enum class FromPlugIn : std::uint32_t { ready = 1, failed, begun, alive, ended, records, own };
enum class Call : std::uint32_t { none, load, begin_run, poll, read_out, end_run, see };
/// As an author knows it: "begin_run"; "a call" when it is not known which.
[[nodiscard]] const char* name(Call call) noexcept;

inline constexpr std::uint32_t has_poll = 1, has_read_out = 2;
inline constexpr std::size_t call_memory = 4;  // bytes of shared memory

struct BeginRun {
    RunNumber run{};
    std::chrono::microseconds poll_interval{};
    std::vector<std::uint32_t> words{};
};
struct Failed {
    Call call{};
    Level1Id trigger{};  // of read_out
    std::string text{};  // written up to 4096 bytes
};

// Each `write` appends a whole message, each `read` takes the body of one. Errors: Errc::truncated, Errc::corrupt.
void write_begin_run(const BeginRun& begin, std::vector<std::byte>& to);
[[nodiscard]] Result<BeginRun> read_begin_run(ConstData body);
void write_failed(const Failed& failed, std::vector<std::byte>& to);
[[nodiscard]] Result<Failed> read_failed(ConstData body);

/// Of any kind, without a body.
template <class Kind>
void write_nothing(Kind kind, std::vector<std::byte>& to) {
    write_message(static_cast<std::uint32_t>(kind), {}, to);
}

/// Of any kind, with one number.
template <class Kind, std::unsigned_integral T>
void write_number(Kind kind, T number, std::vector<std::byte>& to) {
    std::byte body[sizeof number];
    store_little(std::span(body), 0, number);
    write_message(static_cast<std::uint32_t>(kind), body, to);
}
template <std::unsigned_integral T>
[[nodiscard]] Result<T> read_number(ConstData body) {
    if (body.size() != sizeof(T)) return fail(Errc::truncated, "the message has another size than a number");
    return load_little<T>(body);
}

}  // namespace weir::plugin
