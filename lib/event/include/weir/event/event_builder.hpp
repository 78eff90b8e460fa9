// SPDX-License-Identifier: Apache-2.0
// Puts ROBs together to a valid event of either format.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weir/base/stream_tag.hpp"
#include "weir/event/event_pieces.hpp"
#include "weir/event/event_view.hpp"

namespace weir::event {

/// The fields of an event besides its fragments. Event 3.0 has no run type, lists, tags, checksum or
/// compression; `level1_words` are its four trigger words there.
struct EventFields {
    Format format = Format::event_5_0;
    EventIds ids{};
    SourceId source{};
    std::vector<std::uint32_t> status{0};
    std::uint32_t run_type = 0;  // 0 physics, 1 calibration, 2 cosmics, 0xf test; + 0x80000000 simulated
    std::uint32_t bunch_crossing_id = 0;
    std::uint32_t trigger_type = 0;
    std::vector<std::uint32_t> level1_words{};
    std::vector<std::uint32_t> level2_words{};
    std::vector<std::uint32_t> filter_words{};
    std::vector<StreamTag> tags{};
    ChecksumType checksum = ChecksumType::none;  // crc16_ccitt is refused
    Compression compression = Compression::none;
};

/// The event as pieces around the ROBs, which stay where they are (except compressed: then all is made).
/// Each ROB is one whole ROB fragment of the same format. In event 3.0, neighbours of the same
/// sub-detector share a sub-detector and a ROS fragment. Errc::usage or Errc::unsupported when the
/// fields need features that the format does not have, Errc::corrupt when a ROB is not one.
[[nodiscard]] Result<> assemble_event(const EventFields& fields, std::span<const ConstData> robs, EventPieces& into);

/// The same, as bytes.
[[nodiscard]] Result<std::vector<std::byte>> build_event(const EventFields& fields, std::span<const ConstData> robs);

}  // namespace weir::event
