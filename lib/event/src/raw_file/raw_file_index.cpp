// SPDX-License-Identifier: Apache-2.0
#include "weir/event/raw_file_index.hpp"

#include <fmt/format.h>

namespace weir::event {

Result<RawFileIndex> RawFileIndex::make(ConstData file) {
    auto parsed = WEIR_TRY(parse_file_head(file));
    RawFileIndex index;
    index.head = std::move(parsed.head);
    index.head_size = parsed.size;

    std::size_t at = parsed.size;
    while (true) {
        const auto left = file.subspan(at);
        index.bytes_after = left.size();
        if (left.size() < separator_size_bytes) return index;
        switch (record_kind(left)) {
            case RecordKind::separator: {
                auto separator = WEIR_TRY(parse_separator(left, at));
                if (separator.size > left.size() - separator_size_bytes) return index;
                index.blocks.push_back({.offset = at + separator_size_bytes, .separator = separator});
                at += separator_size_bytes + separator.size;
                break;
            }
            case RecordKind::file_end: {
                if (left.size() < file_end_size_bytes) return index;
                auto end = WEIR_TRY(parse_file_end(left, at));
                if (left.size() != file_end_size_bytes)
                    return fail(Errc::corrupt, fmt::format("raw file at byte {}: {} bytes follow the file end", at,
                                                           left.size() - file_end_size_bytes));
                if (end.events_in_file != index.blocks.size())
                    return fail(Errc::corrupt,
                                fmt::format("raw file at byte {}: the file end counts {} events, {} are there", at,
                                            end.events_in_file, index.blocks.size()));
                index.end = end;
                index.bytes_after = 0;
                return index;
            }
            case RecordKind::unknown:
                return fail(Errc::corrupt,
                            fmt::format("raw file at byte {}: neither a data separator nor the file end, "
                                        "after {} events",
                                        at, index.blocks.size()));
        }
    }
}

}  // namespace weir::event
