// SPDX-License-Identifier: Apache-2.0
#include "weir/recovery/recovery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>

#include "found_files.hpp"
#include "recover/finish_file.hpp"
#include "recover/open_file_content.hpp"
#include "weir/base/file.hpp"
#include "weir/base/leaving_file.hpp"
#include "weir/datafile/journal_content.hpp"
#include "weir/datafile/journal_writer.hpp"
#include "weir/datafile/raw_file_reader.hpp"
#include "weir/datafile/stored_index.hpp"
#include "weir/event/raw_file.hpp"

namespace weir::recovery {
namespace {

/// The recovery of one directory.
class DirectoryRecovery {
public:
    DirectoryRecovery(const std::filesystem::path& directory, const Clock& clock, const DurableSizes& durable_sizes,
                      const StoredElsewhere& stored_elsewhere, FileSystem& system)
        : directory_(directory),
          clock_(clock),
          durable_sizes_(durable_sizes),
          stored_elsewhere_(stored_elsewhere),
          system_(system) {}

    Result<RecoveryResult> run() {
        const auto journals = WEIR_TRY(datafile::JournalWriter::find(directory_));
        journal_ = WEIR_TRY(datafile::read_journals(journals));
        has_journal_ = !journals.empty();
        trusted_ = has_journal_ && journal_.damages.empty();
        result_.journals_damaged = !journal_.damages.empty();
        result_.doubts = journal_.damages;
        result_.rejected = journal_.rejected;
        // A rename before a crash of the recorder is perhaps only in memory: before it is reported, it is on the
        // disk.
        if (has_journal_) {
            WEIR_TRY(sync_directory(directory_, system_));
        }
        for (const auto& [guid, size] : durable_sizes_) {
            if (const auto copies = journal_.copies.find(guid); copies != journal_.copies.end())
                std::erase_if(copies->second, [&](const datafile::StoredCopy& copy) { return copy.offset >= size; });
        }
        if (auto restored = restore_leaving_files(directory_, system_); !restored)
            result_.failed.push_back(restored.error());
        std::map<std::string, const datafile::FileOpened*> named;
        for (const auto& [guid, opened] : journal_.opened) named[opened.name] = &opened;
        std::error_code error;
        for (const auto& [name, opened] : named) {
            if (!std::filesystem::exists(directory_ / (name + ".writing"), error)) closed_or_gone(*opened);
        }
        const auto open_files = WEIR_TRY(files_ending(directory_, ".writing"));
        for (const auto& path : open_files) {
            const auto name = path.stem().native();  // without .writing
            if (name.ends_with(".index")) continue;
            const auto opened = named.find(name);
            if (auto done = recover(path, opened == named.end() ? nullptr : opened->second); !done)
                result_.failed.push_back(done.error());
        }
        remove_indexes();
        // Before the journals are removed that prove these files empty: else a power cut could bring a file back
        // alone.
        if (!result_.removed.empty()) {
            WEIR_TRY(sync_directory(directory_, system_));
        }
        return std::move(result_);
    }

private:
    /// The journal names it, and it is not open any more.
    void closed_or_gone(const datafile::FileOpened& opened) {
        const auto data = directory_ / (opened.name + ".data");
        std::error_code error;
        if (!std::filesystem::exists(data, error)) {
            if (!journal_.copies[opened.guid].empty()) result_.vanished.push_back(opened);
            return;
        }
        // Closed, but the catalogue may not have it.
        const auto index = datafile::StoredIndex::read(datafile::index_path_of(data));
        if (index) {
            result_.files.push_back({data, opened, index->closed, 0, false, true});
        } else if (std::filesystem::exists(data, error)) {
            result_.failed.push_back(index.error());
        } else {  // deleted meanwhile, which the catalogue must know
            result_.vanished.push_back(opened);
        }
    }

    Result<> recover(const std::filesystem::path& writing, const datafile::FileOpened* named) {
        const auto name = writing.stem().native();
        const auto data = directory_ / (name + ".data");
        std::error_code error;
        if (std::filesystem::exists(data, error)) {
            if (!std::filesystem::equivalent(writing, data, error))
                return fail(Errc::refused, fmt::format("{} and {} both exist; move one of them away", writing.native(),
                                                       data.native()));
            // Linked to its final name when the recorder died, where a file system has no better way: the old one goes.
            WEIR_TRY(remove_file(writing, system_));
            WEIR_TRY(sync_directory(directory_, system_));
            const auto index = WEIR_TRY(datafile::StoredIndex::read(datafile::index_path_of(data)));
            result_.files.push_back({data, index.opened, index.closed, 0, false, true});
            return {};
        }
        auto index = read_open_index(directory_, name, journal_);
        const auto* opened = named != nullptr ? named : index.opened ? &*index.opened : nullptr;
        if (opened == nullptr || opened->name != name) return recover_unnamed(writing, index.is_there);
        const auto durable = durable_sizes_.find(opened->guid);
        if (durable != durable_sizes_.end())
            std::erase_if(index.entries, [&](const auto& entry) { return entry.copy.offset >= durable->second; });
        const auto file = WEIR_TRY(File::open(writing, File::Mode::read, system_));
        auto content = WEIR_TRY(
            content_of(file, *opened, journal_.copies[opened->guid], index, trusted_, journal_, stored_elsewhere_,
                       durable == durable_sizes_.end() ? std::nullopt : std::optional(durable->second)));
        // Also when the journal names it, and so proves that nothing of it was acknowledged.
        if (content.copies.empty() && (named == nullptr || trusted_) && !content.rest_may_count)
            return acknowledged(index) > 0 ? set_aside(writing) : remove_young(writing);
        std::optional<std::filesystem::path> rest;
        if (content.rest_may_count) {
            rest = WEIR_TRY(keep_rest(writing, content.end, content.whole_end, system_));
        }
        auto recovered = WEIR_TRY(finish_file(directory_, *opened, content.copies, journal_.sessions, clock_, system_));
        recovered.not_in_journal = content.not_in_journal;
        recovered.walked = content.walked;
        if (content.walked > 0) recovered.closed.content = {};  // the ids of these events are in no journal
        recovered.rest = std::move(rest);
        doubt(recovered, content);
        result_.files.push_back(std::move(recovered));
        return {};
    }

    void doubt(const RecoveredFile& file, const OpenFileContent& content) {
        const auto report = [&](std::string what) {
            result_.doubts.push_back({Errc::corrupt, 0, fmt::format("{}: {}", file.path.native(), what)});
        };
        if (content.unreached > 0)
            report(fmt::format("{} acknowledged events lie behind damage and are not in the file", content.unreached));
        if (file.rest)
            report(
                fmt::format("what lies behind its last event may have been acknowledged and is kept as {}; look at it, "
                            "then remove it",
                            file.rest->filename().native()));
        // Between index and journal a crash loses one round; more were in the journal, and are not any more.
        if (has_journal_ && journal_.damages.empty() && content.rounds_not_in_journal > 1)
            report(fmt::format(
                "{} events of {} rounds are not in the journal, which was cut or is an older copy; they are kept",
                content.not_in_journal, content.rounds_not_in_journal));
        if (!has_journal_)
            report(fmt::format("its journal is gone; {} events are kept, {} of them without their senders' names",
                               content.copies.size(), content.walked));
    }

    /// Nothing names the owner of this file.
    Result<> recover_unnamed(const std::filesystem::path& writing, bool has_index) {
        if (trusted_) {
            const auto reader = datafile::RawFileReader::open(writing, system_);
            if (!reader && reader.error().os_errno != 0) return std::unexpected(reader.error());
            if (!reader) return remove_young(writing);
            datafile::FileOpened opened;
            opened.format = reader->head().format();
            const auto block = WEIR_TRY(block_number_at(reader->file(), reader->position()));
            const auto first = WEIR_TRY(whole_event_at(reader->file(), opened, reader->position(), block));
            if (!first) return remove_young(writing);
            return set_aside(writing);
        }
        std::error_code error;
        if (std::filesystem::file_size(writing, error) == 0 && !error) return remove_young(writing);
        auto file = WEIR_TRY(recover_file_by_walking(writing, clock_, system_));
        if (has_journal_ || has_index)
            result_.doubts.push_back({Errc::corrupt, 0,
                                      fmt::format("{}: neither journal nor index names it; {} whole events are kept",
                                                  file.path.native(), file.closed.events)});
        result_.files.push_back(std::move(file));
        return {};
    }

    Result<std::uint32_t> block_number_at(const File& file, std::uint64_t offset) const {
        std::vector<std::byte> words(event::separator_size_bytes);
        const auto got = WEIR_TRY(file.read_some_at(offset, words));
        const auto separator = event::parse_separator(ConstData(words).first(got), offset);
        return separator ? separator->block_number : 0;
    }

    /// Nothing of it was acknowledged: the journal is whole and does not name it, and no whole event is in it.
    Result<> remove_young(const std::filesystem::path& writing) {
        WEIR_TRY(remove_file(writing, system_));
        result_.removed.push_back(writing);
        return {};
    }

    Result<> set_aside(const std::filesystem::path& writing) {
        for (int n = 1;; ++n) {
            const auto aside = directory_ / fmt::format("{}.cut-{}", writing.stem().native(), n);
            auto renamed = rename_new(writing, aside, system_);
            if (!renamed && renamed.error().os_errno == EEXIST) continue;
            if (!renamed) return renamed;
            WEIR_TRY(sync_directory(directory_, system_));
            result_.doubts.push_back({Errc::corrupt, 0,
                                      fmt::format("{} is in no journal and may hold events that were acknowledged; "
                                                  "it is kept as {}; look at it, then remove it",
                                                  writing.native(), aside.filename().native())});
            return {};
        }
    }

    /// Of the events that an index names: those that were acknowledged, although no journal has them. Between index and
    /// journal a crash loses one round, so with two or more the journal was cut. What another file has does not count.
    std::uint64_t acknowledged(const IndexEvidence& index) const {
        std::uint64_t events = 0;
        std::set<std::uint32_t> rounds;
        for (const auto& [copy, round] : index.entries) {
            if (stored_elsewhere_ && stored_elsewhere_(journal_.sessions[copy.session], copy)) continue;
            ++events;
            rounds.insert(round);
        }
        return !trusted_ || rounds.size() > 1 ? events : 0;
    }

    /// The file of this index is gone, and may have held acknowledged events: the index names them when it is restored.
    bool may_count(const std::filesystem::path& path, const std::string& name) {
        if (std::ranges::any_of(result_.vanished, [&](const auto& opened) { return opened.name == name; })) return true;
        std::error_code error;
        if (std::filesystem::exists(directory_ / (name + ".data"), error)) return false;
        if (std::ranges::find(result_.removed, directory_ / (name + ".writing")) != result_.removed.end()) return false;
        auto index = read_open_index(directory_, name, journal_);
        if (const auto durable = index.opened ? durable_sizes_.find(index.opened->guid) : durable_sizes_.end();
            durable != durable_sizes_.end())
            std::erase_if(index.entries, [&](const auto& entry) { return entry.copy.offset >= durable->second; });
        const auto events = acknowledged(index);
        if (events == 0) return false;
        result_.gone.push_back(
            {path,
             index.opened ? std::optional(index.opened->guid) : std::nullopt,
             {Errc::corrupt, 0,
              fmt::format("{} names {} events, and its file is gone; put {}.writing back and run weir recover, or "
                          "remove this index",
                          path.native(), events, name)}});
        return true;
    }

    /// Of files that are closed, or gone without having held anything.
    void remove_indexes() {
        for (const auto& ending : {std::string(".index.writing"), ".index" + std::string(recovering)}) {
            const auto found = files_ending(directory_, ending);
            if (!found) continue;  // nothing depends on it
            for (const auto& path : *found) {
                const auto file = path.filename().native();
                const auto name = file.substr(0, file.size() - ending.size());
                std::error_code error;
                if (std::filesystem::exists(directory_ / (name + ".writing"), error)) continue;
                if (ending == ".index.writing" && may_count(path, name)) continue;
                if (auto removed = remove_file(path, system_); !removed) result_.failed.push_back(removed.error());
                else if (ending == ".index.writing") result_.removed.push_back(path);
            }
        }
    }

    const std::filesystem::path& directory_;
    const Clock& clock_;
    const DurableSizes& durable_sizes_;
    const StoredElsewhere& stored_elsewhere_;
    FileSystem& system_;
    datafile::JournalContent journal_;
    bool has_journal_ = false;
    bool trusted_ = false;  // there, and nothing shows that it is damaged
    RecoveryResult result_;
};

}  // namespace

Result<RecoveryResult> recover_directory(const std::filesystem::path& directory, const Clock& clock,
                                         const DurableSizes& durable_sizes, const StoredElsewhere& stored_elsewhere,
                                         FileSystem& system) {
    return DirectoryRecovery(directory, clock, durable_sizes, stored_elsewhere, system).run();
}

Result<> set_journals_aside(const std::filesystem::path& directory, FileSystem& system) {
    const auto journals = WEIR_TRY(datafile::JournalWriter::find(directory));
    for (const auto& journal : journals) {
        for (int n = 1;; ++n) {
            auto renamed = rename_new(journal, fmt::format("{}.damaged-{}", journal.native(), n), system);
            if (!renamed && renamed.error().os_errno == EEXIST) continue;
            if (!renamed) return renamed;
            break;
        }
    }
    return sync_directory(directory, system);
}

Result<> remove_journals(const std::filesystem::path& directory, FileSystem& system) {
    const auto journals = WEIR_TRY(datafile::JournalWriter::find(directory));
    for (const auto& journal : journals) {
        WEIR_TRY(remove_file(journal, system));
        // One after the other also on the disk: a gap in the numbers means that one was lost.
        WEIR_TRY(sync_directory(directory, system));
    }
    return {};
}

}  // namespace weir::recovery
