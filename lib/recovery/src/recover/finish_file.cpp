// SPDX-License-Identifier: Apache-2.0
#include "recover/finish_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "weir/base/file.hpp"
#include "weir/checksum/adler32.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/datafile/checksum_attribute.hpp"
#include "weir/datafile/end_record.hpp"
#include "weir/datafile/file_sums.hpp"
#include "weir/datafile/index_writer.hpp"
#include "weir/datafile/journal_content.hpp"
#include "weir/datafile/journal_writer.hpp"
#include "weir/datafile/raw_file_reader.hpp"
#include "weir/datafile/stored_index.hpp"
#include "weir/event/raw_file.hpp"
#include "weir/event/raw_file_name.hpp"

namespace weir::recovery {
namespace {

/// A recovery that was cut short has perhaps removed the index that was there before it gave its own the name: then its
/// own, which is whole, is all that names some events, and must not be written anew.
Result<> name_made_index(const std::filesystem::path& index, FileSystem& system) {
    const std::filesystem::path made = index.native() + std::string(recovering);
    std::error_code error;
    if (std::filesystem::exists(index, error) || !std::filesystem::exists(made, error) ||
        !datafile::StoredIndex::read(made))
        return {};
    WEIR_TRY(rename_new(made, index, system));
    return sync_directory(index.parent_path(), system);
}

}  // namespace

Result<RecoveredFile> finish_file(const std::filesystem::path& directory, const datafile::FileOpened& opened,
                                  const std::vector<datafile::StoredCopy>& copies,
                                  const std::vector<datafile::SessionDeclared>& sessions, const Clock& clock,
                                  FileSystem& system, std::string_view index_ending) {
    const auto writing = directory / (opened.name + ".writing");
    auto file = WEIR_TRY(File::open(writing, File::Mode::read_write, system));
    const auto size = WEIR_TRY(file.size());

    datafile::FileSums sums(opened.start, opened.has_adler32);
    std::uint64_t end = opened.start.size();
    datafile::FileClosed closed;
    closed.guid = opened.guid;
    closed.cut = true;
    for (const auto& copy : copies) {
        if (copy.offset != end)
            return fail(Errc::corrupt,
                        fmt::format("the journal of {} names an event at offset {}, the one before ends at {}",
                                    writing.native(), copy.offset, end));
        sums.add_event(copy);
        closed.content.add(copy);
        end += event::separator_size_bytes + copy.length;
        ++closed.events;
        closed.bytes += copy.length;
    }
    if (size < end && !copies.empty())
        return fail(Errc::truncated,
                    fmt::format("{} has {} bytes, but events up to offset {} were acknowledged; it stays "
                                "as it is",
                                writing.native(), size, end));
    if (copies.empty()) {  // then not even its start may have been written
        WEIR_TRY(file.write_at(0, opened.start));
    }
    std::vector<std::byte> start(opened.start.size());
    WEIR_TRY(file.read_at(0, start));
    if (start != opened.start)
        return fail(Errc::corrupt,
                    fmt::format("{} does not begin as in the journal; it stays as it is", writing.native()));

    closed.end = datafile::end_record(opened, closed.events, closed.bytes, clock.wall(), false);
    sums.add_end(closed.end);
    closed.size = end + closed.end.size();
    closed.adler32 = sums.adler32();
    closed.crc32c = sums.crc32c();
    RecoveredFile recovered{directory / (opened.name + ".data"), opened, closed,
                            size - std::min(size, end),          false,  false};
    WEIR_TRY(file.write_at(end, closed.end));
    WEIR_TRY(file.truncate(closed.size));
    WEIR_TRY(file.sync_data());

    // Not over the index of a dead recorder: it may be all that names some of these events.
    const auto old = datafile::IndexWriter::path_of(directory, opened.name);
    WEIR_TRY(name_made_index(old, system));
    auto index = datafile::IndexWriter::create(
        directory, opened, [&](std::uint32_t session) { return sessions.at(session); }, system, index_ending);
    if (!index) return std::unexpected(index.error());
    for (const auto& copy : copies) index->add(copy);
    WEIR_TRY(index->complete(closed));
    WEIR_TRY(index->sync());
    std::error_code ignored;
    if (std::filesystem::exists(old, ignored)) {  // of a close or a recovery that was cut short
        WEIR_TRY(sync_directory(directory, system));
        WEIR_TRY(remove_file(old, system));
    }
    WEIR_TRY(index->rename());
    WEIR_TRY(sync_directory(directory, system));
    if (opened.has_adler32) {
        const auto set = datafile::write_adler32_attribute(file, closed.adler32, clock.wall());
        if (!set && set.error().code != Errc::unsupported) return std::unexpected(set.error());
    }
    WEIR_TRY(rename_new(writing, recovered.path, system));
    WEIR_TRY(sync_directory(directory, system));
    if (const auto old_open = old.native() + ".writing"; std::filesystem::exists(old_open, ignored))
        static_cast<void>(remove_file(old_open, system));  // else the next recovery does it
    return recovered;
}

Result<std::optional<std::filesystem::path>> keep_rest(const std::filesystem::path& writing, std::uint64_t end,
                                                       std::uint64_t whole_end, FileSystem& system) {
    const auto source = WEIR_TRY(File::open(writing, File::Mode::read, system));
    std::vector<std::byte> block(1U << 20);
    std::optional<File> target;
    for (std::uint64_t at = end, written = 0;;) {
        const auto got = WEIR_TRY(source.read_some_at(at, block));
        auto rest = ConstData(block).first(got);
        while (!rest.empty() && rest.back() == std::byte{0}) rest = rest.first(rest.size() - 1);
        if (!rest.empty()) {
            for (int n = 1; !target; ++n) {
                auto created = File::open(writing.parent_path() / fmt::format("{}.cut-{}", writing.stem().native(), n),
                                          File::Mode::create_new, system);
                if (created) target.emplace(std::move(*created));
                else if (created.error().os_errno != EEXIST) return std::unexpected(created.error());
            }
            WEIR_TRY(target->write_at(written, rest));
        }
        at += got;
        written += got;
        if (got < block.size()) break;
    }
    if (!target) return std::nullopt;
    auto path = target->path();
    const auto size = WEIR_TRY(target->size());
    if (end + size < whole_end) {  // the last event ends with zeros
        WEIR_TRY(target->truncate(whole_end - end));
    }
    WEIR_TRY(target->sync_data());
    WEIR_TRY(sync_directory(writing.parent_path(), system));
    return path;
}

Result<RecoveredFile> recover_file_by_walking(const std::filesystem::path& writing, const Clock& clock,
                                              FileSystem& system) {
    auto reader = WEIR_TRY(datafile::RawFileReader::open(writing, system));
    datafile::FileOpened opened;
    const auto& head = reader.head();
    const auto guid = head.metadata_value("GUID");
    opened.guid = guid ? parse_guid(*guid).value_or(Guid::random()) : Guid::random();
    opened.run = head.run.run;
    opened.sequence = head.file_number;
    opened.format = head.format();
    opened.file_version = static_cast<std::uint8_t>(head.version);
    opened.name = writing.stem().native();
    opened.start.assign(reader.head_bytes().begin(), reader.head_bytes().end());
    if (const auto name = event::parse_raw_file_name(writing.filename().native())) {
        opened.stream_type = name->name.stream_type;
        opened.stream_name = name->name.stream_name;
        opened.lumi_block = name->name.lumi_block;
    }
    std::vector<datafile::StoredCopy> copies;
    std::vector<std::byte> bytes;
    while (true) {
        const auto block = reader.next(bytes);
        // What cannot be read now is not damage: nothing is cut because of it.
        if (!block && (block.error().os_errno != 0 || block.error().code == Errc::limit)) {
            auto error = block.error();
            error.context += "; the file stays as it is";
            return std::unexpected(std::move(error));
        }
        if (!block || !*block) break;  // the end, or where whole events end: everything from there is cut
        const auto number = (*block)->separator.block_number;
        if (!copies.empty() && number != copies.back().block_number + 1) break;  // of an older use of the memory
        if (copies.empty()) {
            opened.blocks_before = number - 1;
            opened.events_before = opened.blocks_before;
        }
        datafile::StoredCopy copy;
        copy.guid = opened.guid;
        copy.offset = (*block)->offset;
        copy.length = bytes.size();
        copy.block_number = number;
        copy.adler32 = checksum::adler32(bytes);
        copy.crc32c = checksum::crc32c(bytes);
        copy.placed_crc32c = datafile::placed_crc32c(copy.guid, copy.offset, copy.crc32c, copy.length);
        copies.push_back(copy);
    }
    // Or all files before it were empty; or it is, then nothing is known of those before it.
    opened.counts_alone = opened.sequence > 1 && opened.blocks_before == 0;
    std::optional<std::filesystem::path> rest;
    if (!reader.end()) {
        const auto& last = copies.empty() ? datafile::StoredCopy{} : copies.back();
        const auto end = copies.empty() ? opened.start.size() : last.offset + event::separator_size_bytes + last.length;
        rest = WEIR_TRY(keep_rest(writing, end, end, system));
    }
    const std::vector<datafile::SessionDeclared> sessions{{0, 0, 0, opened.run, "unknown"}};
    auto recovered = WEIR_TRY(finish_file(writing.parent_path(), opened, copies, sessions, clock, system));
    recovered.without_journal = true;
    recovered.closed.content = {};  // the ids of its events are in no journal
    recovered.rest = std::move(rest);
    return recovered;
}

namespace {

/// Where the part of a file ends that cannot be proved; it is read from the disk, not from the page cache.
Result<> prove(const RecoveredFile& recovered, const std::vector<datafile::StoredCopy>& copies, FileSystem& system) {
    auto file = WEIR_TRY(File::open(recovered.path, File::Mode::read, system));
    ::posix_fadvise(file.fd(), 0, 0, POSIX_FADV_DONTNEED);  // a hint; pages that are synced can be released
    std::vector<std::byte> bytes;
    for (const auto& copy : copies) {
        bytes.resize(copy.length);
        WEIR_TRY(file.read_at(copy.offset + event::separator_size_bytes, bytes));
        if (checksum::crc32c(bytes) != copy.crc32c)
            return fail(Errc::corrupt,
                        fmt::format("{}: event {} at offset {}, which was acknowledged, is not what was written",
                                    recovered.path.native(), number(copy.event), copy.offset));
    }
    return {};
}

}  // namespace

Result<RecoveredFile> close_up(const std::filesystem::path& directory, const datafile::FileOpened& opened,
                               std::uint64_t durable_size, std::uint64_t durable_events, const Clock& clock,
                               FileSystem& system, IndexPlace place) {
    const auto journals = WEIR_TRY(datafile::JournalWriter::find(directory));
    auto content = WEIR_TRY(datafile::read_journals(journals));
    if (!content.damages.empty()) return std::unexpected(content.damages.front());
    auto& copies = content.copies[opened.guid];
    std::erase_if(copies, [&](const datafile::StoredCopy& copy) { return copy.offset >= durable_size; });
    if (copies.size() < durable_events)
        return fail(Errc::corrupt,
                    fmt::format("the journal of {} names {} of its {} acknowledged events; the file stays as it is",
                                (directory / opened.name).native(), copies.size(), durable_events));
    if (place == IndexPlace::over)  // the journal names all of them
        static_cast<void>(remove_file(
            datafile::IndexWriter::path_of(directory, opened.name).native() + std::string(recovering), system));
    auto file = WEIR_TRY(finish_file(directory, opened, copies, content.sessions, clock, system,
                                     place == IndexPlace::over ? ".writing" : recovering));
    WEIR_TRY(prove(file, copies, system));
    return file;
}

}  // namespace weir::recovery
