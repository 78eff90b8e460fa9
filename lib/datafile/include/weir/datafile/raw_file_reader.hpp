// SPDX-License-Identifier: Apache-2.0
// Reads a raw file event by event, with ordinary reads and a bounded buffer. A file without its end
// (still open, or its recorder died) is read up to its last whole event.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/file.hpp"
#include "weir/event/raw_file.hpp"

namespace weir::datafile {

/// One thread at a time.
class RawFileReader {
public:
    static constexpr Bytes event_size_max = 1_GiB;

    /// Errc::corrupt: "X is not a raw file: ...".
    [[nodiscard]] static Result<RawFileReader> open(const std::filesystem::path& path,
                                                    FileSystem& system = real_file_system());

    struct Block {
        std::uint64_t offset = 0;  // of the separator in the file
        event::DataSeparator separator;
    };

    /// Reads the next event into `event` (resized). Nothing at the end record or the end of the file.
    /// The error names file, event and offset.
    [[nodiscard]] Result<std::optional<Block>> next(std::vector<std::byte>& event);

    [[nodiscard]] const event::FileHead& head() const noexcept { return head_.head; }
    [[nodiscard]] ConstData head_bytes() const noexcept { return ConstData(head_data_).first(head_.size); }
    /// Known after next() gave nothing; absent when the file has none.
    [[nodiscard]] const std::optional<event::FileEnd>& end() const noexcept { return end_; }
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
    [[nodiscard]] std::uint64_t position() const noexcept { return at_; }
    [[nodiscard]] const File& file() const noexcept { return file_; }

private:
    RawFileReader(File file, std::uint64_t size, std::vector<std::byte> head_data, event::ParsedFileHead head)
        : file_(std::move(file)),
          size_(size),
          head_data_(std::move(head_data)),
          head_(std::move(head)),
          at_(head_.size) {}

    File file_;
    std::uint64_t size_;
    std::vector<std::byte> head_data_;
    event::ParsedFileHead head_;
    std::uint64_t at_;  // of the next record
    std::uint64_t events_ = 0;
    std::optional<event::FileEnd> end_;
};

}  // namespace weir::datafile
