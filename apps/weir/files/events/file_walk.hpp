// SPDX-License-Identifier: Apache-2.0
// Goes through a raw file from separator to separator and reads only the events that are asked for, so
// that looking at the last event of a large file does not read the file. What is wrong with the file
// does not hide what stands before it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "weir/datafile/raw_file_reader.hpp"
#include "weir/event/event_view.hpp"

namespace weir::app {

/// How a walk ended.
enum class FileEnding {
    complete,   // with an end record that counts what is there
    cut_short,  // the bytes end before the file does: still open, or its recorder died
    broken,     // something else stands where a separator or the end should be
};
/// "complete", "cut short", "broken".
[[nodiscard]] const char* name(FileEnding ending) noexcept;

class FileWalk {
public:
    /// Error: not a raw file, or not readable.
    [[nodiscard]] static Result<FileWalk> open(const std::filesystem::path& path);

    struct Block {
        std::uint64_t number = 0;  // of the event in this file, from 1
        std::uint64_t offset = 0;  // of the event in the file, behind the separator
        event::DataSeparator separator;
    };

    /// The next event's place; nothing when the walk has ended. Errc::io only: a read failed.
    [[nodiscard]] Result<std::optional<Block>> next();

    /// The bytes of an event that next() gave.
    [[nodiscard]] Result<> read(const Block& block, std::vector<std::byte>& to) const;

    /// Errc::refused (not there) names the number of events.
    [[nodiscard]] Result<Block> find(std::uint64_t number);

    [[nodiscard]] const event::FileHead& head() const noexcept { return reader_.head(); }
    [[nodiscard]] std::uint64_t head_size() const noexcept { return reader_.head_bytes().size(); }
    [[nodiscard]] std::uint64_t size() const noexcept { return reader_.size(); }
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return reader_.file().path(); }

    // So far, or in all once next() gave nothing.
    [[nodiscard]] std::uint64_t events() const noexcept { return events_; }
    [[nodiscard]] std::uint64_t event_bytes() const noexcept { return event_bytes_; }
    [[nodiscard]] std::uint64_t position() const noexcept { return at_; }  // behind the last whole event

    // Once next() gave nothing.
    [[nodiscard]] FileEnding ending() const noexcept { return ending_; }
    [[nodiscard]] const std::string& reason() const noexcept { return reason_; }  // when not complete
    [[nodiscard]] const std::optional<event::FileEnd>& end() const noexcept { return end_; }

private:
    explicit FileWalk(datafile::RawFileReader reader) : reader_(std::move(reader)), at_(head_size()) {}
    std::nullopt_t stop(FileEnding ending, std::string reason);

    datafile::RawFileReader reader_;  // has read the head; its file is read here
    std::uint64_t at_;
    std::uint64_t events_ = 0;
    std::uint64_t event_bytes_ = 0;
    bool ended_ = false;
    FileEnding ending_ = FileEnding::complete;
    std::string reason_;
    std::optional<event::FileEnd> end_;
};

}  // namespace weir::app
