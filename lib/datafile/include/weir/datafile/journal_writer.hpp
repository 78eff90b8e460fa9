// SPDX-License-Identifier: Apache-2.0
// The journal files of one volume: appended and synced once a round, begun anew when large, removed
// when every file that they name is closed and in the catalogue.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/file.hpp"
#include "weir/datafile/journal.hpp"

namespace weir::datafile {

/// The owner of these journals; in the head of each.
struct JournalOwner {
    RunNumber run{};
    Guid volume{};  // of the directory's marker; zeros: none
    std::string recorder{};
};

/// Which start of the system this is: the same as long as the kernel has not gone down, so that what was written and
/// not synced before is there. Zeros when the system has no id for it.
[[nodiscard]] Guid system_boot();

/// Used by one thread at a time; the volume sees to that.
class JournalWriter {
public:
    static constexpr std::uint64_t size_max = 64ULL << 20;  // of one journal file; then the next begins

    /// Gives the key of a session, when it has to be declared.
    using SessionNames = std::function<SessionDeclared(std::uint32_t session)>;

    /// Begins a new journal file after the highest number that is there.
    [[nodiscard]] static Result<JournalWriter> open(std::filesystem::path directory, SessionNames session_names,
                                                    FileSystem& system = real_file_system(),
                                                    std::uint64_t begin_anew_at = size_max, JournalOwner owner = {});

    JournalWriter(JournalWriter&&) = default;
    JournalWriter& operator=(JournalWriter&&) = default;

    /// Collected until commit().
    void add(const FileOpened& opened);
    void add(const StoredCopy& copy);
    void add(const RejectedCopies& total);

    /// Appends what was collected and syncs it (unless the recorder was configured not to). A failed sync is final;
    /// after a failed write what was collected is still there, for another try or for discard().
    [[nodiscard]] Result<> commit(bool sync);

    [[nodiscard]] bool sync_failed() const noexcept { return sync_failed_; }

    /// What was collected since the last commit() is not to be recorded. The error: traces of it may remain in
    /// the file, so that nothing can be appended any more.
    [[nodiscard]] Result<> discard();

    /// Goes on in a new file when this one is large, and removes those that are not needed. When a new one cannot be
    /// made for now, this one grows on.
    [[nodiscard]] Result<> roll();

    /// The file is closed and the catalogue knows: its entries are not needed for recovery any more.
    /// Removes journal files that are not needed.
    [[nodiscard]] Result<> release(const Guid& guid);

    /// The current one.
    [[nodiscard]] const File& file() const noexcept { return file_; }
    /// Writes it again under its name, from the open file: the name was removed.
    [[nodiscard]] Result<> restore_name();

    /// The catalogue has what was rejected so far: no later journal repeats it.
    void clear_rejected() { rejected_.clear(); }

    /// After a clean stop nothing is open: removes the last one too, unless it counts what the catalogue may not have.
    [[nodiscard]] Result<> remove_if_unneeded();

    [[nodiscard]] static std::filesystem::path path_of(const std::filesystem::path& directory, std::uint32_t number);
    /// Nothing for a file that is no journal.
    [[nodiscard]] static std::optional<std::uint32_t> number_of(const std::filesystem::path& path);
    /// The journals of a directory, by number.
    [[nodiscard]] static Result<std::vector<std::filesystem::path>> find(const std::filesystem::path& directory);

private:
    struct OpenFile {
        FileOpened opened;
        FileProgress progress;  // with all that was committed
    };
    struct Full {
        File file;
        std::uint64_t end;
    };

    JournalWriter(std::filesystem::path directory, SessionNames session_names, FileSystem& system,
                  std::uint64_t begin_anew_at, JournalOwner owner)
        : directory_(std::move(directory)),
          session_names_(std::move(session_names)),
          system_(&system),
          begin_anew_at_(begin_anew_at),
          owner_(std::move(owner)) {}
    [[nodiscard]] Result<> begin(std::uint32_t number);
    [[nodiscard]] Result<> remove_unneeded();
    void require(const Guid& guid);
    void repeat_open_files();

    std::filesystem::path directory_;
    SessionNames session_names_;
    FileSystem* system_;
    std::uint64_t begin_anew_at_;  // size of a journal file
    JournalOwner owner_;
    std::uint32_t number_ = 0;
    File file_;
    std::uint64_t head_size_ = 0;
    std::uint64_t end_ = 0;
    bool sync_failed_ = false;
    std::vector<std::byte> pending_;
    bool commit_begun_ = false;                  // pending_ has its head already: it is tried again
    std::map<Guid, FileProgress> adding_;        // with what is pending
    std::optional<Full> full_;                   // the file before, until its last record names the next
    std::set<std::uint32_t> declared_sessions_;  // in the current file
    std::map<Guid, OpenFile> open_files_;        // that must be known to the current file
    std::map<std::pair<std::string, std::string>, RejectedCopies>
        rejected_;                                       // by stream; stands in the head of the next
    std::map<std::uint32_t, std::set<Guid>> needed_by_;  // journal number: files not yet released
};

}  // namespace weir::datafile
