// SPDX-License-Identifier: Apache-2.0
// An event of a file in a few words: who it is, how large, for which streams. An event that cannot be
// read has its place, size and sum all the same, and the error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/output.hpp"
#include "files/events/file_walk.hpp"
#include "weir/event/event_view.hpp"
#include "weir/event/rob_cursor.hpp"

namespace weir::app {

/// Of a compressed event.
inline constexpr Bytes unpacked_max = 256_MiB;

/// The fragments of an event, unpacked when they are compressed. Move-only: it may point into itself.
class Fragments {
public:
    Fragments(Fragments&&) = default;
    Fragments& operator=(Fragments&&) = default;

    /// Errc::limit: it would be larger than `most` when it is unpacked.
    [[nodiscard]] static Result<Fragments> of(const event::EventView& event, Bytes most = unpacked_max);

    /// Lives no longer than this and the event's bytes.
    [[nodiscard]] event::RobCursor cursor() const { return {payload_, format_, offset_}; }

private:
    Fragments() = default;

    std::vector<std::byte> unpacked_;
    ConstData payload_;  // of the event, or unpacked_
    event::Format format_ = event::Format::event_5_0;
    std::size_t offset_ = 0;
};

/// What the second level found in the event: a fragment that its selection made (docs/formats/objects.md).
struct FoundResult {
    SourceId source{};
    std::vector<std::byte> bytes{};  // not empty
};

struct EventSummary {
    FileWalk::Block block;
    std::uint32_t adler32 = 0;
    std::optional<event::EventIds> ids;  // nothing: opaque, or the header cannot be read
    std::optional<std::uint64_t> robs;
    std::vector<std::string> tags;  // "physics_Main"; "calibration_TLA*" gets a part of the event only
    std::vector<FoundResult> results;
    std::optional<Error> trouble;  // the first thing that is wrong
};

/// `most`: of a compressed event; `results_most`: of those that are kept.
[[nodiscard]] EventSummary summarize(const FileWalk::Block& block, ConstData bytes, event::Format format,
                                     Bytes most = unpacked_max, std::size_t results_most = SIZE_MAX);

[[nodiscard]] json::object json_of(const EventSummary& summary);

}  // namespace weir::app
