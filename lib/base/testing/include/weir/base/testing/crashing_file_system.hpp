// SPDX-License-Identifier: Apache-2.0
// A file system whose power can fail. Every call goes to real files in a test's directory, and what a disk
// need not have yet is remembered: writes and sizes since the last sync of their file, names since the last
// sync of their directory (a sync of a file does not keep its name: POSIX promises no more). After the power
// has failed every call fails, so the rest of the program can change nothing; restore() then makes of
// the directory what a disk may hold. What does not come through here, a database with syncs of its own,
// stays as it is. For tests only: it keeps every file that it has seen in memory, and syncs nothing in earnest.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "weir/base/file.hpp"

namespace weir::testing {

/// What a disk has, after the power failed, of what was not synced.
enum class Kept {
    nothing,
    everything,
    torn,       // of each file, and of the names, what came first; the last write up to some sector of 512 bytes
    reordered,  // any of it: a later write without an earlier one, a new name without the data
};

/// Any thread, but restore() when no other thread uses it.
class CrashingFileSystem final : public FileSystem {
public:
    CrashingFileSystem() = default;

    /// The power fails at the nth call from now that would change or sync something: a write may then be
    /// partly done, a sync is not.
    void crash_at(std::uint64_t nth);
    /// It fails now.
    void crash();
    [[nodiscard]] bool crashed() const;
    /// Called at that moment, before anything else can happen through this file system. Set before any other thread
    /// calls.
    void on_power_failure(std::function<void()> notify) { on_power_failure_ = std::move(notify); }
    /// Calls so far that changed or synced something.
    [[nodiscard]] std::uint64_t changes() const;

    /// A sync of the file has failed: what it should have written never comes to the disk, though it can be read until
    /// the power fails; a later sync does not help.
    void lose_unsynced(int fd);

    /// The power is back: rewrites the files. From here on all that is there is on the disk.
    void restore(Kept kept, std::uint64_t seed);

    int open(const char* path, int flags, mode_t mode) override;
    int close(int fd) override;
    ssize_t pread(int fd, void* to, std::size_t size, off_t offset) override;
    ssize_t pwrite(int fd, const void* from, std::size_t size, off_t offset) override;
    int fdatasync(int fd) override;
    int fsync(int fd) override;
    int ftruncate(int fd, off_t size) override;
    int fallocate(int fd, int mode, off_t offset, off_t size) override;
    int rename_new(const char* from, const char* to) override;
    int unlink(const char* path) override;

private:
    using Bytes = std::vector<std::byte>;
    struct Change {                    // of a file's content
        std::uint64_t offset;          // of a write; the new size of a truncation
        std::optional<Bytes> written;  // nothing: a truncation
    };
    struct Content {
        Bytes on_disk;
        std::vector<Change> pending;
        Bytes now;               // with what is pending: what the real file holds
        std::uint64_t size = 0;  // of that
    };
    using ContentPtr = std::shared_ptr<Content>;  // shared by names and descriptors, as an inode
    using Names = std::map<std::string, ContentPtr>;
    struct NameChange {
        std::string gone, come;  // one may be empty
        ContentPtr content;      // of what has come
    };

    /// False: the power is off, or fails with this call. With the mutex.
    void lose_power();
    [[nodiscard]] bool powered();
    [[nodiscard]] ContentPtr known(const std::string& path);
    static void apply(const Change& change, Bytes& to);
    static void apply(const NameChange& change, Names& to);
    static Bytes content_after(const Content& content, Kept kept, std::mt19937_64& random);

    mutable std::mutex mutex_;
    Names names_;  // now
    Names names_on_disk_;
    std::vector<NameChange> pending_names_;
    std::map<int, ContentPtr> contents_;      // of open files
    std::map<int, std::string> directories_;  // open ones
    std::uint64_t changes_ = 0;
    std::optional<std::uint64_t> crash_at_;
    std::function<void()> on_power_failure_;
    bool crashed_ = false;
};

}  // namespace weir::testing
