// SPDX-License-Identifier: Apache-2.0
// A stream tag: the name of a stream that an event belongs to, and which part of the event goes there.
// An event may carry many; it is recorded once per tag. It is in the lowest layer because both the
// event format and the messages between stations carry tags.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"

namespace weir {

struct StreamTag {
    std::string type;  // physics, calibration, express, debug, monitoring, ...
    std::string name;  // Main, Delayed, ...
    bool obeys_lumi_block = true;
    std::vector<SourceId> robs;           // with `detectors`: the only ROBs that go to this stream
    std::vector<std::uint8_t> detectors;  // sub-detector ids (bits 23-16 of a source id)

    /// Both sets empty means the whole event; otherwise the event is cut down to those ROBs.
    [[nodiscard]] bool partial() const noexcept { return !robs.empty() || !detectors.empty(); }
    [[nodiscard]] bool wants(SourceId rob) const noexcept;

    bool operator==(const StreamTag&) const = default;
};

inline constexpr std::size_t stream_word_size_max = 64;  // of a type and of a name

/// "physics_Main". Type and name hold letters, digits, '-' and (name only) '_': they become file names.
[[nodiscard]] std::string stream_key(const StreamTag& tag);
[[nodiscard]] bool valid_stream_type(std::string_view text) noexcept;
[[nodiscard]] bool valid_stream_name(std::string_view text) noexcept;

/// Reads "type_name"; the type ends at the first underscore. Error: Errc::usage, which gives the form.
[[nodiscard]] Result<StreamTag> parse_stream_key(std::string_view text);

}  // namespace weir
