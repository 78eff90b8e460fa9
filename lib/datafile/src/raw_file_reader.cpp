// SPDX-License-Identifier: Apache-2.0
#include "weir/datafile/raw_file_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weir::datafile {

Result<RawFileReader> RawFileReader::open(const std::filesystem::path& path, FileSystem& system) {
    auto file = WEIR_TRY(File::open(path, File::Mode::read, system));
    const auto size = WEIR_TRY(file.size());
    // Most heads are small; only a long one is asked for a second time.
    for (const std::size_t want : {std::size_t{4096}, event::file_head_size_max}) {
        std::vector<std::byte> data(std::min<std::uint64_t>(want, size));
        WEIR_TRY(file.read_at(0, data));
        auto head = event::parse_file_head(data);
        if (head) return RawFileReader(std::move(file), size, std::move(data), std::move(*head));
        if (head.error().code != Errc::truncated || data.size() == size || want == event::file_head_size_max) {
            return fail(
                head.error().code == Errc::unsupported ? Errc::unsupported : Errc::corrupt,
                fmt::format("{} is not a raw file that can be read: {}; name an ATLAS raw file of version 2 or 6",
                            path.native(), head.error().context));
        }
    }
    return fail(Errc::corrupt,
                fmt::format("{} is not a raw file: its head has no end; name an ATLAS raw file of version 2 or 6",
                            path.native()));
}

Result<std::optional<RawFileReader::Block>> RawFileReader::next(std::vector<std::byte>& event) {
    if (at_ == size_ || end_) return std::nullopt;
    std::array<std::byte, event::file_end_size_bytes> words;
    const auto got = WEIR_TRY(file_.read_some_at(at_, words));
    const auto record = ConstData(words).first(got);
    const auto where = [&] { return fmt::format("{}, event {}, offset {}", file_.path().native(), events_ + 1, at_); };
    switch (event::record_kind(record)) {
        case event::RecordKind::file_end: {
            auto end = event::parse_file_end(record, at_);
            if (!end) return fail(end.error().code, fmt::format("{}: {}", file_.path().native(), end.error().context));
            if (at_ + event::file_end_size_bytes != size_) {
                return fail(Errc::corrupt,
                            fmt::format("{}: {} bytes behind the file end at offset {}", file_.path().native(),
                                        size_ - at_ - event::file_end_size_bytes, at_));
            }
            end_ = *end;
            at_ = size_;
            return std::nullopt;
        }
        case event::RecordKind::unknown:
            return fail(record.size() < 4 ? Errc::truncated : Errc::corrupt,
                        fmt::format("{}: no data separator and no file end", where()));
        case event::RecordKind::separator: break;
    }
    auto separator = event::parse_separator(record, at_);
    if (!separator) return fail(separator.error().code, fmt::format("{}: {}", where(), separator.error().context));
    const auto begin = at_ + event::separator_size_bytes;
    if (separator->size > size_ - begin) {
        return fail(Errc::truncated, fmt::format("{}: the event of {} bytes is cut off after {}", where(),
                                                 separator->size, size_ - begin));
    }
    if (separator->size > event_size_max.count())
        return fail(Errc::limit, fmt::format("{}: the event claims {} bytes", where(), separator->size));
    event.resize(separator->size);
    WEIR_TRY(file_.read_at(begin, event));
    const Block block{at_, *separator};
    at_ = begin + separator->size;
    ++events_;
    return block;
}

}  // namespace weir::datafile
