// SPDX-License-Identifier: Apache-2.0
// A fragment, seen in place: nothing is copied, and a view lives as long as the bytes below it. All
// levels down to the ROB share one header; the ROD is made by detector electronics and has its own.
// Bytes from outside are checked here, once: every accessor of a parsed view is safe.
#pragma once

#include <cstdint>
#include <optional>

#include "weir/base/data.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/event/format.hpp"
#include "weir/event/markers.hpp"
#include "weir/event/words.hpp"

namespace weir::event {

enum class Level : std::uint8_t { event, subdetector, ros, rob, rod };

/// "event", "sub-detector", "ROS", "ROB", "ROD".
[[nodiscard]] const char* name(Level level) noexcept;

/// Event, sub-detector, ROS or ROB.
class FragmentView {
public:
    /// Reads the fragment that begins at the first byte of `data`, which may hold more behind it.
    /// `offset` is where `data` begins in its event; errors count from the event's first byte.
    /// Errc::truncated: an event whose bytes end early. Errc::corrupt: its words contradict each
    /// other or its parent. Errc::unsupported: another version, or a checksum of an unknown kind.
    [[nodiscard]] static Result<FragmentView> parse(ConstData data, Level level, Format format, std::size_t offset = 0);

    [[nodiscard]] Level level() const noexcept { return level_; }
    [[nodiscard]] std::size_t offset() const noexcept { return offset_; }
    [[nodiscard]] ConstData bytes() const noexcept { return bytes_; }
    [[nodiscard]] ConstData header() const noexcept { return bytes_.first(header_size_); }
    [[nodiscard]] ConstData payload() const noexcept { return bytes_.subspan(header_size_, payload_size_); }
    [[nodiscard]] std::size_t payload_offset() const noexcept { return offset_ + header_size_; }

    [[nodiscard]] std::uint32_t version() const noexcept;  // major in the high half
    [[nodiscard]] SourceId source() const noexcept;
    [[nodiscard]] std::size_t status_count() const noexcept { return status_count_; }
    [[nodiscard]] std::uint32_t status(std::size_t i) const noexcept;
    /// The first status word; 0 when there is none.
    [[nodiscard]] std::uint32_t status() const noexcept { return status_count_ == 0 ? 0 : status(0); }
    [[nodiscard]] std::size_t specific_count() const noexcept { return specific_count_; }
    [[nodiscard]] std::uint32_t specific(std::size_t i) const noexcept;
    /// Where specific word i lies, in bytes from the start of this fragment.
    [[nodiscard]] std::size_t specific_position(std::size_t i) const noexcept;

    [[nodiscard]] ChecksumType checksum_type() const noexcept { return checksum_type_; }
    /// The last word, when there is a checksum. It covers the payload only.
    [[nodiscard]] std::optional<std::uint32_t> checksum() const noexcept;

private:
    FragmentView() = default;

    ConstData bytes_;
    std::size_t offset_ = 0;
    std::size_t header_size_ = 0;
    std::size_t payload_size_ = 0;
    std::size_t status_count_ = 0;
    std::size_t specific_count_ = 0;
    Level level_ = Level::event;
    ChecksumType checksum_type_ = ChecksumType::none;
};

/// The readout driver's own fragment: the whole payload of a ROB.
class RodView {
public:
    /// `data` is exactly one ROD fragment. `offset` as above.
    [[nodiscard]] static Result<RodView> parse(ConstData data, std::size_t offset = 0);

    [[nodiscard]] std::size_t offset() const noexcept { return offset_; }
    [[nodiscard]] ConstData bytes() const noexcept { return bytes_; }
    [[nodiscard]] std::uint32_t version() const noexcept;
    [[nodiscard]] SourceId source() const noexcept;
    [[nodiscard]] RunNumber run() const noexcept;  // many real detectors leave it at 0
    [[nodiscard]] Level1Id level1_id() const noexcept;
    [[nodiscard]] std::uint32_t bunch_crossing_id() const noexcept;
    [[nodiscard]] std::uint32_t trigger_type() const noexcept;
    [[nodiscard]] std::uint32_t detector_event_type() const noexcept;
    [[nodiscard]] ConstData data() const noexcept;  // the detector's words
    /// The same as numbers, in place: a random-access range of std::uint32_t.
    [[nodiscard]] auto words() const noexcept { return words_of(data()); }
    [[nodiscard]] ConstData status_words() const noexcept;  // before or after the data
    [[nodiscard]] bool status_after_data() const noexcept { return status_after_data_; }

private:
    RodView() = default;

    ConstData bytes_;
    std::size_t offset_ = 0;
    std::size_t status_words_ = 0;
    std::size_t data_words_ = 0;
    bool status_after_data_ = false;
};

}  // namespace weir::event
