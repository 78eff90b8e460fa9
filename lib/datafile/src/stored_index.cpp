// SPDX-License-Identifier: Apache-2.0
#include "weir/datafile/stored_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "weir/base/bytes.hpp"
#include "weir/base/file.hpp"
#include "weir/wire/sequence_set.hpp"

namespace weir::datafile {
namespace {

constexpr Bytes index_size_max = 8_GiB;

}  // namespace

std::filesystem::path index_path_of(const std::filesystem::path& data_file) {
    auto path = data_file;
    return path.replace_extension(".index");
}

Result<std::vector<std::byte>> read_records(const std::filesystem::path& path) {
    const auto file = WEIR_TRY(File::open(path, File::Mode::read));
    const auto size = WEIR_TRY(file.size());
    if (size > index_size_max.count())
        return fail(Errc::limit, fmt::format("{} is larger than {}", path.native(), to_string(index_size_max)));
    std::vector<std::byte> bytes(size);
    const auto got = WEIR_TRY(file.read_some_at(0, bytes));
    bytes.resize(got);
    return bytes;
}

Result<StoredIndex> StoredIndex::read(const std::filesystem::path& path) {
    const auto bytes = WEIR_TRY(read_records(path));
    StoredIndex index;
    bool has_opened = false;
    bool has_closed = false;
    const auto end = for_each_record(bytes, [&](const JournalRecord& record) {
        if (const auto* opened = std::get_if<FileOpened>(&record)) {
            index.opened = *opened;
            has_opened = true;
        } else if (const auto* session = std::get_if<SessionDeclared>(&record)) {
            index.sessions[session->number] = *session;
        } else if (const auto* copy = std::get_if<StoredCopy>(&record)) {
            index.copies.push_back(*copy);
        } else if (const auto* closed = std::get_if<FileClosed>(&record)) {
            index.closed = *closed;
            has_closed = true;
        }
        return true;
    });
    if (!end.clean)
        return fail(Errc::corrupt,
                    fmt::format("index {} is damaged at offset {}: {}", path.native(), end.offset, end.reason));
    if (!has_opened || !has_closed || index.copies.size() != index.closed.events)
        return fail(Errc::corrupt, fmt::format("index {} is incomplete: {} of {} events", path.native(),
                                               index.copies.size(), index.closed.events));
    auto& content = index.closed.content;
    for (const auto& copy : index.copies) content.add(copy);
    // The ids of events that only their structure proved are in no record.
    if (!std::ranges::all_of(index.copies, [](const auto& copy) { return wire::valid(copy.sequence); }))
        content.first_event = content.last_event = std::nullopt;
    return index;
}

}  // namespace weir::datafile
