// SPDX-License-Identifier: Apache-2.0
#include "journal_content.hpp"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <unordered_map>

#include "weir/base/endian.hpp"
#include "weir/storage/journal_writer.hpp"
#include "weir/storage/stored_index.hpp"

namespace weir::storage {
namespace {

constexpr std::string_view by_hand = "to recover them without it, move the journals away and name each to: weir recover FILE";

/// Where the next commit begins, at or behind `from`: what stands before it was synced. In a journal of an older version,
/// which has none, where the next valid record begins.
std::optional<std::uint64_t> next_commit(ConstData data, std::uint64_t from, std::uint64_t data_at, bool has_commits) {
    for (auto at = from; at + journal_header_size <= data.size(); ++at) {
        bool found = false;
        if (load_little<std::uint32_t>(data, at) != journal_magic) continue;
        for_each_record(data.subspan(at), [&](const JournalRecord& record) {
            const auto* commit = std::get_if<JournalCommit>(&record);
            found = !has_commits || (commit != nullptr && commit->offset == data_at + at);
            return false;
        });
        if (found) return at;
    }
    return std::nullopt;
}

Result<> read_journal(const std::filesystem::path& path, JournalContent& content) {
    const auto bytes = read_records(path);
    if (!bytes) return std::unexpected(bytes.error());
    std::unordered_map<std::uint32_t, std::uint32_t> lane_numbers;
    bool has_commits = false;
    const auto take = [&](const JournalRecord& record) {
        if (const auto* opened = std::get_if<FileOpened>(&record)) {
            content.opened.insert_or_assign(opened->guid, *opened);
        } else if (const auto* lane = std::get_if<LaneDeclared>(&record)) {
            lane_numbers[lane->number] = content.lane(*lane);
        } else if (const auto* copy = std::get_if<StoredCopy>(&record)) {
            auto known = *copy;
            const auto lane_number = lane_numbers.find(copy->lane);
            if (lane_number == lane_numbers.end()) {
                content.damages.push_back({Errc::corrupt, 0, fmt::format("journal {} does not say who sent event {}; its files "
                                                                         "are left as they are", path.native(), number(copy->event))});
                return true;
            }
            known.lane = lane_number->second;
            content.copies[copy->guid].push_back(known);
        } else if (const auto* progress = std::get_if<FileProgress>(&record)) {
            const auto found = content.copies[progress->guid].size();
            if (found >= progress->events) return true;
            content.lost.emplace(progress->guid, Error{Errc::corrupt, 0, fmt::format("journal {} comes behind {} events of {}, of which {} "
                                                                                "are found: an earlier journal is missing; put it back, "
                                                                                "for the file is left as it is; {}",
                                                                                path.native(), progress->events,
                                                                                content.opened[progress->guid].name, found, by_hand)});
        } else if (const auto* continues = std::get_if<JournalContinues>(&record)) {
            content.continues_in = continues->next;
        } else if (std::holds_alternative<JournalCommit>(record)) {
            has_commits = true;
        }
        return true;
    };
    content.continues_in = 0;
    // What is damaged or ends behind the last commit was being written when the recorder died, and never acknowledged.
    // A commit behind damage is another matter: something that was synced is lost, and nobody may cut files by it.
    auto rest = ConstData(*bytes);
    for (std::uint64_t at = 0; !rest.empty();) {
        const auto end = for_each_record(rest, take);
        if (end.clean) break;
        const auto next = next_commit(rest, end.offset + 1, at, has_commits);
        if (!next) break;
        content.damages.push_back({Errc::corrupt, 0, fmt::format("journal {} is damaged at offset {} ({}); its files are left "
                                                                 "as they are; {}",
                                                                 path.native(), at + end.offset, end.reason, by_hand)});
        at += *next;
        rest = rest.subspan(*next);
    }
    return {};
}

/// Journals are numbered without a gap, removed in their order, and say when another follows. Where one is missing
/// between two or at the end, nobody knows what was acknowledged in it.
void find_missing(const std::vector<std::filesystem::path>& journals, JournalContent& content) {
    for (std::size_t i = 1; i <= journals.size(); ++i) {
        const auto number = i < journals.size() ? JournalWriter::number_of(journals[i - 1]).value() + 1 : content.continues_in;
        if (number == 0 || (i < journals.size() && JournalWriter::number_of(journals[i]) == number)) continue;
        const auto missing = JournalWriter::path_of(journals[i - 1].parent_path(), number);
        content.damages.push_back({Errc::corrupt, 0, fmt::format("journal {} is missing; put it back, for the files that it may "
                                                                 "name are left as they are; {}", missing.native(), by_hand)});
    }
}

}  // namespace

std::uint32_t JournalContent::lane(LaneDeclared declared) {
    const auto next = static_cast<std::uint32_t>(lanes.size());
    const auto [at, is_new] = lane_numbers_.try_emplace(
        {declared.sender, declared.incarnation, declared.connection, number(declared.run)}, next);
    if (is_new) {
        declared.number = next;
        lanes.push_back(std::move(declared));
    }
    return at->second;
}

Result<JournalContent> read_journals(const std::vector<std::filesystem::path>& journals) {
    JournalContent content;
    for (const auto& journal : journals) {
        if (auto read = read_journal(journal, content); !read) return std::unexpected(read.error());
    }
    find_missing(journals, content);
    return content;
}

}  // namespace weir::storage
