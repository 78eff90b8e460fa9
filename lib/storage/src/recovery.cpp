// SPDX-License-Identifier: Apache-2.0
#include "weir/storage/recovery.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "end_record.hpp"
#include "journal_content.hpp"
#include "weir/base/file.hpp"
#include "weir/base/leaving_file.hpp"
#include "weir/checksum/adler32.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/event/raw_file.hpp"
#include "weir/event/raw_file_name.hpp"
#include "weir/storage/checksum_attribute.hpp"
#include "weir/storage/file_sums.hpp"
#include "weir/storage/index_writer.hpp"
#include "weir/storage/journal_writer.hpp"
#include "weir/storage/raw_file_reader.hpp"
#include "weir/storage/stored_index.hpp"

namespace weir::storage {
namespace {

/// Ends a file after the copies that are known to be there, and gives it index, attribute and name.
Result<RecoveredFile> finish_file(const std::filesystem::path& directory, const FileOpened& opened,
                                  const std::vector<StoredCopy>& copies, const std::vector<LaneDeclared>& lanes,
                                  const Clock& clock, FileSystem& system = real_file_system()) {
    const auto writing = directory / (opened.name + ".writing");
    auto file = File::open(writing, File::Mode::read_write, system);
    if (!file) return std::unexpected(file.error());
    const auto size = file->size();
    if (!size) return std::unexpected(size.error());

    FileSums sums(opened.start, opened.has_adler32);
    std::uint64_t end = opened.start.size();
    FileClosed closed;
    closed.guid = opened.guid;
    for (const auto& copy : copies) {
        if (copy.offset != end)
            return fail(Errc::corrupt, fmt::format("the journal of {} names an event at offset {}, the one before ends at {}",
                                                   writing.native(), copy.offset, end));
        sums.add_event(copy);
        closed.content.add(copy);
        end += event::separator_size_bytes + copy.length;
        ++closed.events;
        closed.bytes += copy.length;
    }
    if (*size < end && !copies.empty())
        return fail(Errc::truncated, fmt::format("{} has {} bytes, but events up to offset {} were acknowledged; it is left "
                                                 "as it is", writing.native(), *size, end));
    if (copies.empty()) {  // then not even its start may have been written
        if (auto written = file->write_at(0, opened.start); !written) return std::unexpected(written.error());
    }
    std::vector<std::byte> start(opened.start.size());
    if (auto read = file->read_at(0, start); !read) return std::unexpected(read.error());
    if (start != opened.start)
        return fail(Errc::corrupt, fmt::format("{} does not begin as the journal says; it is left as it is", writing.native()));

    closed.end = end_record(opened, closed.events, closed.bytes, clock.wall(), false);
    sums.add_end(closed.end);
    closed.size = end + closed.end.size();
    closed.adler32 = sums.adler32();
    closed.crc32c = sums.crc32c();
    RecoveredFile recovered{directory / (opened.name + ".data"), opened, closed, *size - std::min(*size, end), false, false};
    if (auto written = file->write_at(end, closed.end); !written) return std::unexpected(written.error());
    if (auto cut = file->truncate(closed.size); !cut) return std::unexpected(cut.error());
    if (auto synced = file->sync_data(); !synced) return std::unexpected(synced.error());

    auto index = IndexWriter::create(directory, opened, [&](std::uint32_t lane) { return lanes.at(lane); }, system);
    if (!index) return std::unexpected(index.error());
    for (const auto& copy : copies) index->add(copy);
    std::error_code ignored;  // an index of a recovery that was cut short itself is replaced
    if (const auto old = IndexWriter::path_of(directory, opened.name); std::filesystem::exists(old, ignored)) {
        if (auto removed = remove_file(old, system); !removed) return std::unexpected(removed.error());
    }
    if (auto done = index->close(closed); !done) return std::unexpected(done.error());
    if (opened.has_adler32) {
        const auto set = write_adler32_attribute(*file, closed.adler32, clock.wall());
        if (!set && set.error().code != Errc::unsupported) return std::unexpected(set.error());
    }
    if (auto renamed = rename_new(writing, recovered.path, system); !renamed) return std::unexpected(renamed.error());
    if (auto synced = sync_directory(directory, system); !synced) return std::unexpected(synced.error());
    return recovered;
}

}  // namespace

Result<std::vector<std::filesystem::path>> files_ending(const std::filesystem::path& directory, std::string_view ending) {
    std::vector<std::filesystem::path> found;
    std::error_code error;
    for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
        if (it->path().native().ends_with(ending)) found.push_back(it->path());
    }
    if (error) return fail_errno(error.value(), fmt::format("cannot read directory {}", directory.native()));
    std::ranges::sort(found);
    return found;
}

namespace {

/// Nobody has said what of a file without a journal was acknowledged: a copy of what lies behind `end`, up to its last
/// byte that is not zero, under a name that was free. Nothing: there are only zeros.
Result<std::optional<std::filesystem::path>> keep_rest(const std::filesystem::path& writing, std::uint64_t end,
                                                       FileSystem& system) {
    const auto source = File::open(writing, File::Mode::read, system);
    if (!source) return std::unexpected(source.error());
    std::vector<std::byte> block(1U << 20);
    std::optional<File> target;
    for (std::uint64_t at = end, written = 0;;) {
        const auto got = source->read_some_at(at, block);
        if (!got) return std::unexpected(got.error());
        auto rest = ConstData(block).first(*got);
        while (!rest.empty() && rest.back() == std::byte{0}) rest = rest.first(rest.size() - 1);
        if (!rest.empty()) {
            for (int n = 1; !target; ++n) {
                auto created = File::open(writing.parent_path() / fmt::format("{}.cut-{}", writing.stem().native(), n),
                                          File::Mode::create_new, system);
                if (created) target.emplace(std::move(*created));
                else if (created.error().os_errno != EEXIST) return std::unexpected(created.error());
            }
            if (auto kept = target->write_at(written, rest); !kept) return std::unexpected(kept.error());
        }
        at += *got;
        written += *got;
        if (*got < block.size()) break;
    }
    if (!target) return std::nullopt;
    auto path = target->path();
    if (auto synced = target->sync_data(); !synced) return std::unexpected(synced.error());
    if (auto synced = sync_directory(writing.parent_path(), system); !synced) return std::unexpected(synced.error());
    return path;
}

}  // namespace

Result<RecoveredFile> recover_file_by_walking(const std::filesystem::path& writing, const Clock& clock, FileSystem& system) {
    auto reader = RawFileReader::open(writing, system);
    if (!reader) return std::unexpected(reader.error());
    FileOpened opened;
    const auto& head = reader->head();
    const auto guid = head.metadata_value("GUID");
    opened.guid = guid ? parse_guid(*guid).value_or(Guid::random()) : Guid::random();
    opened.run = head.run.run;
    opened.sequence = head.file_number;
    opened.format = head.format();
    opened.file_version = static_cast<std::uint8_t>(head.version);
    opened.name = writing.stem().native();
    opened.start.assign(reader->head_bytes().begin(), reader->head_bytes().end());
    if (const auto name = event::parse_raw_file_name(writing.filename().native())) {
        opened.stream_type = name->name.stream_type;
        opened.stream_name = name->name.stream_name;
        opened.lumi_block = name->name.lumi_block;
    }
    std::vector<StoredCopy> copies;
    std::vector<std::byte> bytes;
    while (true) {
        const auto block = reader->next(bytes);
        // What cannot be read now is not damage: nothing is cut because of it.
        if (!block && (block.error().os_errno != 0 || block.error().code == Errc::limit)) {
            auto error = block.error();
            error.context += "; the file is left as it is";
            return std::unexpected(std::move(error));
        }
        if (!block || !*block) break;  // the end, or where whole events end: everything from there is cut
        const auto number = (*block)->separator.block_number;
        if (!copies.empty() && number != copies.back().block_number + 1) break;  // left there by an older use of the memory
        if (copies.empty()) {
            opened.blocks_before = number - 1;
            opened.events_before = opened.blocks_before;
        }
        StoredCopy copy;
        copy.guid = opened.guid;
        copy.offset = (*block)->offset;
        copy.length = bytes.size();
        copy.block_number = number;
        copy.adler32 = checksum::adler32(bytes);
        copy.crc32c = checksum::crc32c(bytes);
        copy.placed_crc32c = placed_crc32c(copy.guid, copy.offset, copy.crc32c, copy.length);
        copies.push_back(copy);
    }
    std::optional<std::filesystem::path> rest;
    if (!reader->end()) {
        const auto& last = copies.empty() ? StoredCopy{} : copies.back();
        const auto end = copies.empty() ? opened.start.size() : last.offset + event::separator_size_bytes + last.length;
        auto kept = keep_rest(writing, end, system);
        if (!kept) return std::unexpected(kept.error());
        rest = std::move(*kept);
    }
    const std::vector<LaneDeclared> lanes{{0, 0, 0, opened.run, "unknown"}};
    auto recovered = finish_file(writing.parent_path(), opened, copies, lanes, clock, system);
    if (!recovered) return recovered;
    recovered->without_journal = true;
    recovered->closed.content = {};  // the ids of its events are in nobody's journal
    recovered->rest = std::move(rest);
    return recovered;
}

namespace {

/// Where the part of a file ends that cannot be proved; it is read from the disk, not from what is left in memory.
Result<> prove(const RecoveredFile& recovered, const std::vector<StoredCopy>& copies, FileSystem& system) {
    auto file = File::open(recovered.path, File::Mode::read, system);
    if (!file) return std::unexpected(file.error());
    ::posix_fadvise(file->fd(), 0, 0, POSIX_FADV_DONTNEED);  // a hint; what is synced can be dropped
    std::vector<std::byte> bytes;
    for (const auto& copy : copies) {
        bytes.resize(copy.length);
        if (auto read = file->read_at(copy.offset + event::separator_size_bytes, bytes); !read) return read;
        if (checksum::crc32c(bytes) != copy.crc32c)
            return fail(Errc::corrupt, fmt::format("{}: event {} at offset {}, which was acknowledged, is not what was written",
                                                   recovered.path.native(), number(copy.event), copy.offset));
    }
    return {};
}

}  // namespace

Result<RecoveredFile> close_up(const std::filesystem::path& directory, const FileOpened& opened, std::uint64_t durable_size,
                               const Clock& clock, FileSystem& system) {
    const auto journals = JournalWriter::find(directory);
    if (!journals) return std::unexpected(journals.error());
    auto read = read_journals(*journals);
    if (!read) return std::unexpected(read.error());
    auto& content = *read;
    if (!content.damages.empty()) return std::unexpected(content.damages.front());
    auto& copies = content.copies[opened.guid];
    std::erase_if(copies, [&](const StoredCopy& copy) { return copy.offset >= durable_size; });
    auto file = finish_file(directory, opened, copies, content.lanes, clock, system);
    if (!file) return file;
    if (auto proved = prove(*file, copies, system); !proved) return std::unexpected(proved.error());
    return file;
}

Result<RecoveryResult> recover_directory(const std::filesystem::path& directory, const Clock& clock,
                                         const DurableSizes& durable_sizes, FileSystem& system) {
    const auto journals = JournalWriter::find(directory);
    if (!journals) return std::unexpected(journals.error());
    auto read = read_journals(*journals);
    if (!read) return std::unexpected(read.error());
    auto& content = *read;
    // A name that a crash of the recorder left is perhaps only in memory: before anybody hears of it, it is on the disk.
    if (!journals->empty()) {
        if (auto synced = sync_directory(directory, system); !synced) return std::unexpected(synced.error());
    }
    for (const auto& [guid, size] : durable_sizes) {
        if (const auto copies = content.copies.find(guid); copies != content.copies.end())
            std::erase_if(copies->second, [&](const StoredCopy& copy) { return copy.offset >= size; });
    }
    RecoveryResult result;
    result.failed = content.damages;
    if (auto put_back = put_back_leaving(directory, system); !put_back) result.failed.push_back(put_back.error());
    std::error_code error;
    std::set<std::string> known_names;
    for (const auto& [guid, opened] : content.opened) {
        known_names.insert(opened.name);
        if (!content.damages.empty()) continue;
        const auto writing = directory / (opened.name + ".writing");
        const auto data = directory / (opened.name + ".data");
        if (std::filesystem::exists(writing, error)) {
            if (std::filesystem::exists(data, error)) {
                result.failed.push_back({Errc::refused, 0, fmt::format("{} and {} both exist; move one of them away",
                                                                       writing.native(), data.native())});
                continue;
            }
            if (const auto lost = content.lost.find(guid); lost != content.lost.end()) {
                result.failed.push_back(lost->second);
                continue;
            }
            auto file = finish_file(directory, opened, content.copies[guid], content.lanes, clock, system);
            if (file) {
                result.files.push_back(std::move(*file));
            } else {
                result.failed.push_back(file.error());
            }
        } else if (std::filesystem::exists(data, error)) {
            // Closed, but the catalogue may not have heard of it.
            const auto index = StoredIndex::read(index_path_of(data));
            if (index) {
                result.files.push_back({data, opened, index->closed, 0, false, true});
            } else if (std::filesystem::exists(data, error)) {
                result.failed.push_back(index.error());
            } else {  // deleted meanwhile, which the catalogue must know
                result.vanished.push_back(opened);
            }
        } else if (!content.copies[guid].empty()) {
            result.vanished.push_back(opened);
        }
    }
    if (!result.failed.empty()) return result;  // whatever else is there may belong to what failed
    const auto left_over = files_ending(directory, ".writing");
    if (!left_over) return std::unexpected(left_over.error());
    for (const auto& path : *left_over) {
        auto name = path.stem().native();  // without .writing
        if (name.ends_with(".index")) name.resize(name.size() - 6);
        if (known_names.contains(name)) continue;
        if (path.native().ends_with(".index.writing") || !journals->empty()) {
            // Not in the journal: nothing of it was ever acknowledged, its senders send it again.
            if (auto removed = remove_file(path, system); !removed) result.failed.push_back(removed.error());
            else result.removed.push_back(path);
            continue;
        }
        auto file = recover_file_by_walking(path, clock, system);
        if (file) {
            result.files.push_back(std::move(*file));
        } else {
            result.failed.push_back(file.error());
        }
    }
    return result;
}

Result<> remove_journals(const std::filesystem::path& directory, FileSystem& system) {
    const auto journals = JournalWriter::find(directory);
    if (!journals) return std::unexpected(journals.error());
    for (const auto& journal : *journals) {
        if (auto removed = remove_file(journal, system); !removed) return removed;
        // One after the other also on the disk: a gap in the numbers means that one was lost.
        if (auto synced = sync_directory(directory, system); !synced) return synced;
    }
    return {};
}

}  // namespace weir::storage
