// SPDX-License-Identifier: Apache-2.0
// Makes ROB fragments, each around one ROD, as a readout buffer holds them for one event. A fragment
// that was lost is made too: an empty ROB with its status bits set, so that an incomplete event stays readable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/event/format.hpp"
#include "weir/event/markers.hpp"

namespace weir::event {

/// The fields of the readout driver about its data.
struct RodFields {
    SourceId source{};
    RunNumber run{};
    Level1Id level1_id{};
    std::uint32_t bunch_crossing_id = 0;
    std::uint32_t trigger_type = 0;
    std::uint32_t detector_event_type = 0;
    std::uint32_t status = 0;  // one status word
    bool status_after_data = true;
};

struct RobOptions {
    Format format = Format::event_5_0;
    std::uint32_t status = 0;                    // one status word
    ChecksumType checksum = ChecksumType::none;  // event 3.0 has none; crc16_ccitt is not made
};

/// The bytes of a ROB with `data_words` words of data.
[[nodiscard]] std::size_t rob_size(std::size_t data_words, const RobOptions& options) noexcept;

/// Appends one ROB. Errc::unsupported for a checksum that we do not make.
[[nodiscard]] Result<> append_rob(std::vector<std::byte>& to, const RodFields& rod, std::span<const std::uint32_t> data,
                                  const RobOptions& options = {});

/// Appends the ROB around a ROD fragment that was made elsewhere: `rod` is exactly that fragment, and is not looked
/// into. Errors as above.
[[nodiscard]] Result<> append_rob_around(std::vector<std::byte>& to, SourceId source, ConstData rod,
                                         const RobOptions& options = {});

/// Appends the ROB that stands for a fragment that never came: no data, status "lost" and "collection
/// timeout of a dummy fragment". It carries the ids of its event.
[[nodiscard]] Result<> append_lost_rob(std::vector<std::byte>& to, const RodFields& rod, RobOptions options = {});

/// Appends the ROB of a source that is masked: no data, status "discarded" of a dummy fragment.
[[nodiscard]] Result<> append_masked_rob(std::vector<std::byte>& to, const RodFields& rod, RobOptions options = {});

}  // namespace weir::event
