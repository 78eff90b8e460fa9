// SPDX-License-Identifier: Apache-2.0
#include "recover/open_file_content.hpp"

#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include "weir/checksum/adler32.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/datafile/index_writer.hpp"
#include "weir/datafile/journal_writer.hpp"
#include "weir/datafile/raw_file_reader.hpp"
#include "weir/datafile/stored_index.hpp"
#include "weir/event/check.hpp"
#include "weir/event/raw_file.hpp"

namespace weir::recovery {
namespace {

IndexEvidence read_index(const std::filesystem::path& path, datafile::JournalContent& journal) {
    IndexEvidence index;
    std::error_code error;
    index.is_there = std::filesystem::exists(path, error);
    const auto bytes = datafile::read_records(path);
    if (!bytes) return index;
    std::unordered_map<std::uint32_t, std::uint32_t> sessions;
    std::uint32_t round = 0;
    Guid boot;
    const auto damage = datafile::for_each_valid_record(*bytes, [&](const datafile::JournalRecord& record, bool) {
        if (const auto* begins = std::get_if<datafile::JournalBegins>(&record)) {
            boot = begins->boot;
        } else if (std::holds_alternative<datafile::JournalCommit>(record)) {
            ++round;
        } else if (const auto* opened = std::get_if<datafile::FileOpened>(&record)) {
            index.opened = *opened;
        } else if (const auto* session = std::get_if<datafile::SessionDeclared>(&record)) {
            sessions[session->number] = journal.session(*session);
        } else if (const auto* copy = std::get_if<datafile::StoredCopy>(&record)) {
            if (const auto declared = sessions.find(copy->session); declared != sessions.end()) {
                index.entries.push_back({*copy, round});
                index.entries.back().copy.session = declared->second;
            }
        }
    });
    index.complete = !damage && boot != Guid{} && boot == datafile::system_boot() && index.opened;
    return index;
}

std::uint64_t end_of(const datafile::StoredCopy& copy) {
    return copy.offset + event::separator_size_bytes + copy.length;
}

/// The bytes of an event that stands whole at `offset`, with this block number; nothing: none does.
Result<std::optional<std::vector<std::byte>>> event_at(const File& file, std::uint64_t offset,
                                                       std::uint32_t block_number) {
    const auto size = WEIR_TRY(file.size());
    std::array<std::byte, event::separator_size_bytes> words;
    const auto got = WEIR_TRY(file.read_some_at(offset, words));
    if (got < words.size() || event::record_kind(words) != event::RecordKind::separator) return std::nullopt;
    const auto separator = event::parse_separator(words, offset);
    if (!separator || separator->block_number != block_number ||
        separator->size > datafile::RawFileReader::event_size_max.count() ||
        separator->size > size - offset - words.size())
        return std::nullopt;
    std::vector<std::byte> bytes(separator->size);
    WEIR_TRY(file.read_at(offset + words.size(), bytes));
    return bytes;
}

/// Behind the last event stands the record that ends a file, with the number of these events: the file was complete.
Result<bool> ends_at(const File& file, const OpenFileContent& content) {
    std::vector<std::byte> record(event::file_end_size_bytes);
    WEIR_TRY(file.read_at(content.end, record));
    const auto end = event::parse_file_end(record, content.end);
    return end && end->events_in_file == content.copies.size();
}

}  // namespace

IndexEvidence read_open_index(const std::filesystem::path& directory, const std::string& name,
                              datafile::JournalContent& journal) {
    const auto path = datafile::IndexWriter::path_of(directory, name);
    auto most = read_index(path.native() + ".writing", journal);
    const auto look_at = [&](const std::filesystem::path& other) {
        auto index = read_index(other, journal);
        if (index.entries.size() > most.entries.size()) most = std::move(index);
    };
    look_at(path);
    if (const auto made = path.native() + std::string(recovering); datafile::StoredIndex::read(made)) look_at(made);
    return most;
}

Result<std::optional<datafile::StoredCopy>> whole_event_at(const File& file, const datafile::FileOpened& opened,
                                                           std::uint64_t offset, std::uint32_t block_number) {
    const auto found = WEIR_TRY(event_at(file, offset, block_number));
    if (!found) return std::nullopt;
    const auto& bytes = *found;
    if (!event::check_event(bytes, opened.format, event::Depth::header)) return std::nullopt;
    datafile::StoredCopy copy;
    copy.guid = opened.guid;
    copy.offset = offset;
    copy.length = bytes.size();
    copy.block_number = block_number;
    copy.lumi_block = opened.lumi_block;
    copy.adler32 = opened.has_adler32 ? checksum::adler32(bytes) : 0;
    copy.crc32c = checksum::crc32c(bytes);
    copy.placed_crc32c = datafile::placed_crc32c(copy.guid, copy.offset, copy.crc32c, copy.length);
    return copy;
}

Result<OpenFileContent> content_of(const File& file, const datafile::FileOpened& opened,
                                   const std::vector<datafile::StoredCopy>& named, const IndexEvidence& index,
                                   bool trusted, datafile::JournalContent& journal,
                                   const StoredElsewhere& stored_elsewhere, std::optional<std::uint64_t> durable_size) {
    std::map<std::uint64_t, const datafile::StoredCopy*> in_journal;  // by offset
    std::map<std::uint64_t, const IndexEvidence::Entry*> in_index;
    for (const auto& copy : named) in_journal.emplace(copy.offset, &copy);
    for (const auto& entry : index.entries) {
        if (entry.copy.guid == opened.guid) in_index.emplace(entry.copy.offset, &entry);
    }
    OpenFileContent content;
    content.end = opened.start.size();
    std::set<std::uint32_t> rounds;
    // The index is written before the journal: one that names less than it was cut.
    const bool index_is_whole =
        index.complete &&
        (in_journal.empty() || (!in_index.empty() && in_index.rbegin()->first >= in_journal.rbegin()->first));
    const auto nothing_behind = [&] {
        return index_is_whole && (in_index.empty() || in_index.rbegin()->first < content.end);
    };
    const auto take = [&](const datafile::StoredCopy& copy) {
        content.copies.push_back(copy);
        content.end = end_of(copy);
    };
    bool stopped = false;  // where another file has what comes: the sender was asked for it again
    while (!durable_size || content.end < *durable_size) {
        const auto block = opened.blocks_before + static_cast<std::uint32_t>(content.copies.size()) + 1;
        if (const auto at = in_journal.find(content.end); at != in_journal.end()) {
            take(*at->second);
            continue;
        }
        if (const auto at = in_index.find(content.end);
            at != in_index.end() && at->second->copy.block_number == block) {
            const auto& copy = at->second->copy;
            stopped = stored_elsewhere && stored_elsewhere(journal.sessions[copy.session], copy);
            if (stopped) break;
            const auto bytes = WEIR_TRY(event_at(file, copy.offset, block));
            if (bytes && bytes->size() == copy.length && checksum::crc32c(*bytes) == copy.crc32c) {
                ++content.not_in_journal;
                rounds.insert(at->second->round);
                take(copy);
                continue;
            }
        }
        // What stands before an event that the journal names was acknowledged as well, whatever became of its entry.
        const bool before_another = durable_size || in_journal.lower_bound(content.end) != in_journal.end();
        if (!before_another && (trusted || nothing_behind())) break;
        auto walked = WEIR_TRY(whole_event_at(file, opened, content.end, block));
        if (!walked) break;
        const auto next = in_journal.lower_bound(content.end);
        if (next != in_journal.end() && end_of(*walked) > next->first) break;
        walked->session = journal.session({0, 0, 0, opened.run, "unknown"});
        ++content.not_in_journal;
        ++content.walked;
        take(*walked);
    }
    content.rounds_not_in_journal = rounds.size();
    content.unreached =
        static_cast<std::uint64_t>(std::distance(in_journal.lower_bound(content.end), in_journal.end()));
    if (durable_size) {
        const auto ended = WEIR_TRY(*durable_size == content.end + event::file_end_size_bytes ? ends_at(file, content)
                                                                                              : Result<bool>(false));
        content.rest_may_count = content.end < *durable_size && !ended;
    } else if (content.unreached > 0) {
        content.rest_may_count = true;
    } else if (stopped || trusted == nothing_behind()) {  // both prove that nothing behind counts, or neither
        content.rest_may_count = !trusted;
    } else {
        const auto block = opened.blocks_before + static_cast<std::uint32_t>(content.copies.size()) + 1;
        const auto behind = WEIR_TRY(whole_event_at(file, opened, content.end, block));
        content.rest_may_count = behind.has_value();
    }
    content.whole_end = content.end;
    for (auto block = opened.blocks_before + static_cast<std::uint32_t>(content.copies.size()) + 1;
         content.rest_may_count; ++block) {
        const auto next = WEIR_TRY(whole_event_at(file, opened, content.whole_end, block));
        if (!next) break;
        content.whole_end = end_of(*next);
    }
    return content;
}

}  // namespace weir::recovery
