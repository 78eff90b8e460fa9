// SPDX-License-Identifier: Apache-2.0
// The records of a raw file as bytes: its head (file start, names, metadata, run parameters), the
// separator before each event, and its end. Written in versions 6 (event 5.0, opaque) and 2 (event
// 3.0), read in 5 too. No I/O here: the file's owner writes and reads the bytes. Every word is
// known when it is written, so nothing is ever rewritten in place and the file's checksum stays true.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/data.hpp"
#include "weir/base/guid.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/base/stream_tag.hpp"
#include "weir/event/format.hpp"
#include "weir/event/raw_file_records.hpp"

namespace weir::event {

/// The date and time words, taken apart: DDMMYYYY and HHMMSS in decimal, local time. Any word is kept
/// as it is, a day 99 too: the words only label the file.
struct CalendarTime {
    std::uint32_t year = 0, month = 0, day = 0;
    std::uint32_t hour = 0, minute = 0, second = 0;

    bool operator==(const CalendarTime&) const noexcept = default;

    [[nodiscard]] static CalendarTime from_words(std::uint32_t date, std::uint32_t time) noexcept;
    /// As the calendar of this machine's time zone shows it.
    [[nodiscard]] static CalendarTime local(std::chrono::system_clock::time_point time);
    [[nodiscard]] std::uint32_t date_word() const noexcept;
    [[nodiscard]] std::uint32_t time_word() const noexcept;
};

struct RunParameters {
    RunNumber run{};
    std::uint32_t events_max = 0;  // 0 = no limit
    std::uint32_t recording_enabled = 1;
    std::uint32_t trigger_type = 0;
    std::array<std::uint32_t, 4> detector_mask{};  // least significant first; version 2 keeps one word, 5 two
    std::uint32_t beam_type = 0;
    std::uint32_t beam_energy = 0;

    bool operator==(const RunParameters&) const noexcept = default;
};

/// Everything before the first separator.
struct FileHead {
    std::uint32_t version = file_version_current;
    std::uint32_t file_number = 1;  // in its sequence
    CalendarTime opened{};
    std::uint32_t blocks_max = 0;         // 0 = no limit
    std::uint32_t size_max_mb = 0;        // 0 = no limit
    std::string application{};            // "SFO-1"
    std::string name_core{};              // of the file: RawFileName::core()
    std::vector<std::string> metadata{};  // "Key=value", in the order of the file; none in version 2
    RunParameters run{};

    bool operator==(const FileHead&) const = default;

    /// The value of a metadata key.
    [[nodiscard]] std::optional<std::string_view> metadata_value(std::string_view key) const noexcept;
    /// The format of the payloads: from the metadata (Format=opaque), else from the version.
    [[nodiscard]] Format format() const noexcept;
};

struct DataSeparator {
    std::uint32_t block_number = 0;  // starts at 1, runs on over the files of one sequence, or counts within each
    std::uint32_t size = 0;          // bytes that follow

    bool operator==(const DataSeparator&) const noexcept = default;
};

struct FileEnd {
    CalendarTime closed{};
    std::uint32_t events_in_file = 0;
    std::uint32_t mib_in_file = 0;  // of events, without records; rounded_mib
    std::uint32_t events_in_sequence = 0;
    std::uint32_t mib_in_sequence = 0;
    bool last_of_sequence = false;

    bool operator==(const FileEnd&) const noexcept = default;
};

/// The metadata of a file in the order in which ATLAS writes it: GUID, the user's strings (each
/// "Key=value"), Stream, Project, LumiBlock. `format` adds Format=opaque where that is so.
[[nodiscard]] std::vector<std::string> compose_metadata(const Guid& guid, std::span<const std::string> user,
                                                        const StreamTag& stream, std::string_view project,
                                                        LumiBlock lumi_block, Format format);

/// Errc::usage when the head cannot be written so: a version that we do not write (5), metadata in version
/// 2, a string over its limit.
[[nodiscard]] Result<std::vector<std::byte>> encode_file_head(const FileHead& head);
void encode_separator(std::span<std::byte, separator_size_bytes> to, const DataSeparator& separator) noexcept;
void encode_file_end(std::span<std::byte, file_end_size_bytes> to, const FileEnd& end) noexcept;

struct ParsedFileHead {
    FileHead head{};
    std::size_t size = 0;  // bytes: where the first separator stands
};

/// Reads the head from the first bytes of a file. Errc::truncated when `data` ends too early: read more,
/// up to file_head_size_max, and call again.
[[nodiscard]] Result<ParsedFileHead> parse_file_head(ConstData data);

enum class RecordKind : std::uint8_t { separator, file_end, unknown };
/// The kind of record by the first 4 bytes; unknown when there are fewer.
[[nodiscard]] RecordKind record_kind(ConstData data) noexcept;

/// `offset` is where `data` begins in the file, for messages.
[[nodiscard]] Result<DataSeparator> parse_separator(ConstData data, std::uint64_t offset);
[[nodiscard]] Result<FileEnd> parse_file_end(ConstData data, std::uint64_t offset);

/// Whole MiB, rounded to the nearest: how the file end counts.
[[nodiscard]] constexpr std::uint32_t rounded_mib(Bytes amount) noexcept {
    return static_cast<std::uint32_t>((amount.count() + (std::uint64_t{1} << 19)) >> 20);
}

}  // namespace weir::event
