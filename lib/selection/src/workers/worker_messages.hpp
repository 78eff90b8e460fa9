// SPDX-License-Identifier: Apache-2.0
// The messages between a station and a worker process: one event as bytes in shared memory, and answers.
// Both ends belong to the same build of weir (the Python end is lib/selection/python/weir_selection_worker.py), so
// there is one version only; but a plug-in may have overwritten its process's memory: what comes back is checked like
// any bytes from outside.
//
// Memory, little-endian: u32 magic, version; u64 size of all; u64 global id; u32 level-1 id, run, lumi block, bunch
// crossing, trigger type, seconds, nanoseconds, fragments, level-1 words, level-2 words; u64 position and size of the
// payload; for each fragment u32 source, state and u64 position, size; the words; then, each at a multiple of 8, the
// payload and the fragments that do not lie in it.
//
// Socket, to the worker: u64 size of the event in memory. Back: u32 magic, kind, size, then `size` bytes:
//   ready      nothing: the plug-in is loaded
//   failed     text: why it could not be loaded, or what it threw
//   decision   u32 accepted, tags, size of the result, words; tags: u16 size of the text, u8 obeys lumi blocks,
//              u8 detectors, u32 ROBs, "type_name", u32 for each ROB, u8 for each detector; result; u32 for each word
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/base/result.hpp"
#include "weir/selection/selection.hpp"

namespace weir::selection {

inline constexpr std::uint32_t shared_event_magic = 0x45535257;  // "WRSE"
inline constexpr std::uint32_t shared_event_version = 1;
inline constexpr std::size_t shared_event_head = 80;
inline constexpr std::size_t shared_event_fragment = 24;
inline constexpr std::uint32_t answer_magic = 0x41535257;  // "WRSA"
inline constexpr std::size_t answer_head = 12;
inline constexpr std::size_t answer_max = 1 << 20;
inline constexpr std::size_t tag_robs_max = 4096;

[[nodiscard]] std::size_t shared_event_size(const Event& event) noexcept;
/// `to` holds shared_event_size(event) bytes at least.
void write_event(const Event& event, MutableData to) noexcept;

/// The data of a view of an event besides the shared memory.
struct EventParts {
    std::vector<Fragment> fragments;
    std::vector<std::uint32_t> level1_words, level2_words;
};
/// Error: it contradicts itself. The result lies in `memory` and `parts`.
[[nodiscard]] Result<Event> read_event(ConstData memory, EventParts& parts);

enum class AnswerKind : std::uint32_t { ready = 1, failed = 2, decision = 3 };
struct AnswerHead {
    AnswerKind kind{};
    std::uint32_t size = 0;
};
/// Of the answer_head bytes in `head`. Errc::corrupt, Errc::limit.
[[nodiscard]] Result<AnswerHead> read_answer_head(ConstData head);
/// Errc::truncated, corrupt, limit or usage: it is not a decision, or not one that is allowed.
[[nodiscard]] Result<Decision> read_decision(ConstData body);

void write_answer(AnswerKind kind, std::string_view text, std::vector<std::byte>& to);
void write_decision(const Decision& decision, std::vector<std::byte>& to);

}  // namespace weir::selection
