// SPDX-License-Identifier: Apache-2.0
#include "weir/datafile/journal_content.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "weir/base/endian.hpp"
#include "weir/datafile/journal_writer.hpp"
#include "weir/datafile/stored_index.hpp"

namespace weir::datafile {
namespace {

constexpr std::size_t continues_size = journal_header_size + 4;

/// Where the next valid record begins, at or behind `from`.
std::optional<std::uint64_t> next_record(ConstData data, std::uint64_t from) {
    for (auto at = from; at + journal_header_size <= data.size(); ++at) {
        if (load_little<std::uint32_t>(data, at) != journal_magic) continue;
        bool valid = false;
        for_each_record(data.subspan(at), [&](const JournalRecord&) {
            valid = true;
            return false;
        });
        if (valid) return at;
    }
    return std::nullopt;
}

Result<> read_journal(const std::filesystem::path& path, bool is_last, JournalContent& content) {
    const auto bytes = WEIR_TRY(read_records(path));
    const auto damaged = [&](const std::string& what) {
        content.damages.push_back({Errc::corrupt, 0, fmt::format("journal {} {}", path.native(), what)});
    };
    std::unordered_map<std::uint32_t, std::uint32_t> session_numbers;
    std::uint64_t without_session = 0;
    const auto take = [&](const JournalRecord& record) {
        if (const auto* opened = std::get_if<FileOpened>(&record)) {
            content.opened.insert_or_assign(opened->guid, *opened);
        } else if (const auto* session = std::get_if<SessionDeclared>(&record)) {
            session_numbers[session->number] = content.session(*session);
        } else if (const auto* copy = std::get_if<StoredCopy>(&record)) {
            auto known = *copy;
            const auto session_number = session_numbers.find(copy->session);
            if (session_number == session_numbers.end()) return void(++without_session);
            known.session = session_number->second;
            content.copies[copy->guid].push_back(known);
        } else if (const auto* progress = std::get_if<FileProgress>(&record)) {
            const auto found = content.copies[progress->guid].size();
            if (found < progress->events)
                damaged(
                    fmt::format("comes behind {} events of {}, of which {} are found: an earlier journal is missing",
                                progress->events, content.opened[progress->guid].name, found));
        } else if (const auto* rejected = std::get_if<RejectedCopies>(&record)) {
            content.rejected.push_back(*rejected);
        } else if (const auto* continues = std::get_if<JournalContinues>(&record)) {
            content.continues_in = continues->next;
        }
    };
    content.continues_in = 0;
    std::vector<JournalRecord> behind;  // damage
    std::optional<JournalRecord> first;
    const auto damage = for_each_valid_record(bytes, [&](const JournalRecord& record, bool behind_damage) {
        if (!first) first = record;
        if (behind_damage) behind.push_back(record);
        else take(record);
    });
    // A file that ends behind its last commit was being written when the recorder died, or was damaged since. These
    // cannot be distinguished, and the whole records in it count as much as those of the index.
    const bool was_to_continue = damage && !is_last && bytes.size() - damage->offset <= continues_size;
    const bool synced_is_lost = damage && (damage->commit_behind || (!is_last && !was_to_continue));
    if (synced_is_lost) std::ranges::for_each(behind, take);
    if (bytes.empty()) {
        damaged("is empty");
    } else if (damage && damage->offset == 0) {
        damaged(fmt::format("does not begin as a journal does ({})", damage->reason));
    } else if (synced_is_lost) {
        damaged(fmt::format("is damaged at offset {} ({})", damage->offset, damage->reason));
    }
    if (without_session > 0) damaged(fmt::format("does not name the sender of {} of its events", without_session));
    const auto* begins = first ? std::get_if<JournalBegins>(&*first) : nullptr;
    if (begins != nullptr && begins->number != JournalWriter::number_of(path))
        damaged(fmt::format("is a copy of number {}", begins->number));
    return {};
}

/// Journals are numbered without a gap, removed in their order, and each one that is full names the next. Where one is
/// missing between two or at the end, it is unknown what was acknowledged in it.
void find_missing(const std::vector<std::filesystem::path>& journals, JournalContent& content) {
    for (std::size_t i = 1; i <= journals.size(); ++i) {
        const auto number =
            i < journals.size() ? JournalWriter::number_of(journals[i - 1]).value() + 1 : content.continues_in;
        if (number == 0 || (i < journals.size() && JournalWriter::number_of(journals[i]) == number)) continue;
        const auto missing = JournalWriter::path_of(journals[i - 1].parent_path(), number);
        content.damages.push_back({Errc::corrupt, 0, fmt::format("journal {} is missing", missing.native())});
    }
}

}  // namespace

std::uint32_t JournalContent::session(SessionDeclared declared) {
    const auto next = static_cast<std::uint32_t>(sessions.size());
    const auto [at, is_new] = session_numbers_.try_emplace(
        {declared.sender, declared.incarnation, declared.connection, number(declared.run)}, next);
    if (is_new) {
        declared.number = next;
        sessions.push_back(std::move(declared));
    }
    return at->second;
}

std::optional<RecordDamage> for_each_valid_record(
    ConstData data, const std::function<void(const JournalRecord&, bool behind_damage)>& each) {
    std::optional<RecordDamage> damage;
    for (std::uint64_t at = 0; at < data.size();) {
        const auto rest = data.subspan(at);
        const auto end = for_each_record(rest, [&](const JournalRecord& record) {
            if (damage && std::holds_alternative<JournalCommit>(record)) damage->commit_behind = true;
            each(record, damage.has_value());
            return true;
        });
        if (end.clean) break;
        if (!damage) damage = RecordDamage{at + end.offset, end.reason, false};
        const auto next = next_record(rest, end.offset + 1);
        if (!next) break;
        at += *next;
    }
    return damage;
}

Result<JournalContent> read_journals(const std::vector<std::filesystem::path>& journals) {
    JournalContent content;
    for (const auto& journal : journals) {
        WEIR_TRY(read_journal(journal, journal == journals.back(), content));
    }
    find_missing(journals, content);
    return content;
}

}  // namespace weir::datafile
