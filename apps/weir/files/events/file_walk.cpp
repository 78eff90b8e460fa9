// SPDX-License-Identifier: Apache-2.0
#include "files/events/file_walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weir::app {

const char* name(FileEnding ending) noexcept {
    switch (ending) {
        case FileEnding::complete: return "complete";
        case FileEnding::cut_short: return "cut short";
        case FileEnding::broken: return "broken";
    }
    return "?";
}

Result<FileWalk> FileWalk::open(const std::filesystem::path& path) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored))
        return fail(Errc::usage, fmt::format("{} is a directory; name the files in it", path.native()));
    auto reader = WEIR_TRY(datafile::RawFileReader::open(path));
    return FileWalk(std::move(reader));
}

std::nullopt_t FileWalk::stop(FileEnding ending, std::string reason) {
    ended_ = true;
    ending_ = ending;
    reason_ = std::move(reason);
    return std::nullopt;
}

Result<std::optional<FileWalk::Block>> FileWalk::next() {
    if (ended_) return std::nullopt;
    std::array<std::byte, event::file_end_size_bytes> words;
    const auto got = WEIR_TRY(reader_.file().read_some_at(at_, words));
    const auto record = ConstData(words).first(got);
    if (record.empty()) return stop(FileEnding::cut_short, fmt::format("no end record at offset {}", at_));
    switch (event::record_kind(record)) {
        case event::RecordKind::file_end: {
            if (record.size() < event::file_end_size_bytes)
                return stop(FileEnding::cut_short, fmt::format("the end record at offset {} is cut off", at_));
            const auto end = event::parse_file_end(record, at_);
            if (!end) return stop(FileEnding::broken, end.error().context);
            end_ = *end;
            const auto behind = at_ + event::file_end_size_bytes;
            if (behind < size())
                return stop(FileEnding::broken,
                            fmt::format("{} bytes follow the end record at offset {}", size() - behind, at_));
            if (end_->events_in_file != events_)
                return stop(FileEnding::broken,
                            fmt::format("the end record at offset {} counts {} events, {} are there", at_,
                                        end_->events_in_file, events_));
            return stop(FileEnding::complete, {});
        }
        case event::RecordKind::unknown:
            if (record.size() < event::separator_size_bytes)
                return stop(FileEnding::cut_short,
                            fmt::format("{} bytes at offset {} are no whole record", record.size(), at_));
            // A recorder takes space ahead of what it writes, and writes whole blocks: behind the last event of
            // an open file, or of one that was open at a crash, stands whatever was there.
            if (path().extension() == ".writing" ||
                std::ranges::all_of(record, [](std::byte b) { return b == std::byte{0}; }))
                return stop(FileEnding::cut_short, fmt::format("no event was written yet at offset {}", at_));
            return stop(FileEnding::broken,
                        fmt::format("neither an event nor the end record stands at offset {}", at_));
        case event::RecordKind::separator: break;
    }
    if (record.size() < event::separator_size_bytes)
        return stop(FileEnding::cut_short, fmt::format("the separator at offset {} is cut off", at_));
    const auto separator = event::parse_separator(record, at_);
    if (!separator) return stop(FileEnding::broken, separator.error().context);
    const auto begin = at_ + event::separator_size_bytes;
    if (separator->size > size() - begin)
        return stop(FileEnding::cut_short, fmt::format("the event at offset {} has {} bytes, {} are there", begin,
                                                       separator->size, size() - begin));
    at_ = begin + separator->size;
    ++events_;
    event_bytes_ += separator->size;
    return Block{events_, begin, *separator};
}

Result<> FileWalk::read(const Block& block, std::vector<std::byte>& to) const {
    if (block.separator.size > datafile::RawFileReader::event_size_max.count())
        return fail(Errc::limit, fmt::format("{}: event {} at offset {} claims {} bytes, at most {} are read",
                                             path().native(), block.number, block.offset, block.separator.size,
                                             to_string(datafile::RawFileReader::event_size_max)));
    to.resize(block.separator.size);
    return reader_.file().read_at(block.offset, to);
}

Result<FileWalk::Block> FileWalk::find(std::uint64_t number) {
    while (true) {
        const auto block = WEIR_TRY(next());
        if (block && block->number == number) return *block;
        if (!block)
            return fail(Errc::refused, fmt::format("{} has no event {}; it has {}{}{}", path().native(), number,
                                                   events_, reason_.empty() ? "" : ", then ", reason_));
    }
}

}  // namespace weir::app
