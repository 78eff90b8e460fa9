// SPDX-License-Identifier: Apache-2.0
// The index of one file while it is written: entries are appended as they become durable, without a
// sync of their own, because the journal holds them too until the index is complete and synced.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string_view>
#include <vector>

#include "weir/base/file.hpp"
#include "weir/datafile/journal.hpp"

namespace weir::datafile {

class IndexWriter {
public:
    using SessionNames = std::function<SessionDeclared(std::uint32_t session)>;

    /// Creates `<data file without ending>.index.writing`, or with another `ending`, replacing one that remained of a
    /// crash.
    [[nodiscard]] static Result<IndexWriter> create(const std::filesystem::path& directory, const FileOpened& opened,
                                                    SessionNames session_names, FileSystem& system = real_file_system(),
                                                    std::string_view ending = ".writing");

    void add(const StoredCopy& copy);
    /// Appends what was added since, as one round.
    [[nodiscard]] Result<> write();
    /// Completes the index, syncs it, gives it its final name and syncs that: complete(), sync() and rename(). So it is
    /// there before the data file has its own.
    [[nodiscard]] Result<> close(const FileClosed& closed);
    /// Writes the last record. When there was no room for it, it may be called again.
    [[nodiscard]] Result<> complete(const FileClosed& closed);
    /// And closes. A failure is final.
    [[nodiscard]] Result<> sync();
    /// Gives it its final name. The caller syncs the directory before the data file is given its own.
    [[nodiscard]] Result<> rename();

    /// Open from create() to sync(), under its first name.
    [[nodiscard]] const File& file() const noexcept { return file_; }
    /// Writes it again under its name, from the open file: the name was removed.
    [[nodiscard]] Result<> restore_name();
    /// It is not needed: closes it as it is, so that its space is free when its name is gone. Nothing is written
    /// afterwards.
    void abandon() noexcept { file_ = {}; }

    [[nodiscard]] static std::filesystem::path path_of(const std::filesystem::path& directory, const std::string& name);

private:
    IndexWriter(std::filesystem::path target, std::filesystem::path made, File file, SessionNames session_names,
                FileSystem& system)
        : target_(std::move(target)),
          made_(std::move(made)),
          file_(std::move(file)),
          session_names_(std::move(session_names)),
          system_(&system) {}

    std::filesystem::path target_, made_;
    File file_;
    SessionNames session_names_;
    FileSystem* system_;
    std::uint64_t end_ = 0;
    std::vector<std::byte> pending_;
    bool round_begun_ = false;  // pending_ has its head already
    std::set<std::uint32_t> declared_sessions_;
    bool complete_ = false;  // the last record is written, or pending
};

}  // namespace weir::datafile
