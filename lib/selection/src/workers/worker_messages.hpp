// SPDX-License-Identifier: Apache-2.0
// The messages between a station and a worker process: one event as bytes in shared memory, and answers.
// The Python end is lib/selection/python/weir_selection_worker.py.
//
// Memory, little-endian: u32 magic, version; u64 size of all; u64 global id; u32 level-1 id, run, lumi block, bunch
// crossing, trigger type, seconds, nanoseconds, fragments, level-1 words, level-2 words; u64 position and size of the
// payload; for each fragment u32 source, state and u64 position, size; the words; then, each at a multiple of 8, the
// payload and the fragments that do not lie in it.
//
// Requested fragments stand behind it, a block for each request, at a multiple of 8: u32 magic, version; u64 size of
// the block; u32 fragments, zero; for each fragment u32 source, state and u64 position (from the beginning of the
// block), size; the fragments, each at a multiple of 8.
//
// Socket, to the worker: u64 size of the event in memory; after a request: u64 position and size of the block. Back:
// messages (weir/plugin/worker_message.hpp) of the kinds
//   ready      nothing: the plug-in is loaded
//   failed     text: why it could not be loaded, or what it threw
//   decision   u32 accepted, tags, size of the result, words; tags: u16 size of the text, u8 obeys lumi blocks,
//              u8 detectors, u32 ROBs, "type_name", u32 for each ROB, u8 for each detector; result; u32 for each word
//   request    u32 for each source: the selection waits for these fragments, and then goes on
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/base/result.hpp"
#include "weir/plugin/worker_message.hpp"
#include "weir/selection/selection.hpp"

namespace weir::selection {

inline constexpr std::uint32_t shared_event_magic = 0x45535257;      // "WRSE"
inline constexpr std::uint32_t shared_event_version = 2;             // of requested fragments as well
inline constexpr std::uint32_t shared_fragments_magic = 0x46535257;  // "WRSF"
inline constexpr std::size_t shared_event_head = 80;
inline constexpr std::size_t shared_event_fragment = 24;
inline constexpr std::size_t shared_fragments_head = 24;
inline constexpr plugin::MessageLimits answer_limits{.kind_max = 4, .size_max = 1 << 20};
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

/// Where a block of fragments stands when `used` bytes stand before it.
[[nodiscard]] constexpr std::size_t shared_position(std::size_t used) noexcept { return (used + 7) & ~std::size_t{7}; }
[[nodiscard]] std::size_t shared_fragments_size(std::span<const Fragment> fragments) noexcept;
/// `to` holds shared_fragments_size(fragments) bytes at least.
void write_fragments(std::span<const Fragment> fragments, MutableData to) noexcept;
/// Error: the block contradicts itself. The result lies in `block`.
[[nodiscard]] Result<std::vector<Fragment>> read_fragments(ConstData block);

enum class AnswerKind : std::uint32_t { ready = 1, failed = 2, decision = 3, request = 4 };
/// Errc::truncated, corrupt, limit or usage: it is not a decision, or not one that is allowed.
[[nodiscard]] Result<Decision> read_decision(ConstData body);
/// Errc::truncated, limit: it is no list of sources, or a longer one than is allowed.
[[nodiscard]] Result<std::vector<SourceId>> read_request(ConstData body);

void write_answer(AnswerKind kind, std::string_view text, std::vector<std::byte>& to);
void write_decision(const Decision& decision, std::vector<std::byte>& to);
void write_request(std::span<const SourceId> sources, std::vector<std::byte>& to);

}  // namespace weir::selection
