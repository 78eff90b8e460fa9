// SPDX-License-Identifier: Apache-2.0
// A file, and the few operations on names that must survive a crash. Every system call goes through
// FileSystem, so that a test can make any one of them fail or fall short.
#pragma once

#include <sys/statvfs.h>
#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "weir/base/bytes.hpp"
#include "weir/base/data.hpp"
#include "weir/base/result.hpp"

namespace weir {

/// The system calls behind File; each returns what the call returns and sets errno. The base class
/// makes the real ones; a test overrides those that shall fail. Called from any thread.
class FileSystem {
public:
    virtual ~FileSystem() = default;
    virtual int open(const char* path, int flags, mode_t mode);
    virtual int close(int fd);
    virtual ssize_t pread(int fd, void* to, std::size_t size, off_t offset);
    virtual ssize_t pwrite(int fd, const void* from, std::size_t size, off_t offset);
    virtual int fdatasync(int fd);
    virtual int fsync(int fd);
    virtual int ftruncate(int fd, off_t size);
    /// Fails with EEXIST when the target exists (renameat2 RENAME_NOREPLACE).
    virtual int rename_new(const char* from, const char* to);
    virtual int unlink(const char* path);
    virtual int fallocate(int fd, int mode, off_t offset, off_t size);
    virtual int statvfs(const char* path, struct ::statvfs* status);
};

/// The real one, shared by everyone who is not a test.
[[nodiscard]] FileSystem& real_file_system() noexcept;

/// An open file. Move-only. Different threads may read and write different ranges at once.
class File {
public:
    enum class Mode {
        read,        // must exist
        read_write,  // must exist
        create_new,  // must not exist (O_EXCL): never overwrites
        open_or_create
    };

    [[nodiscard]] static Result<File> open(const std::filesystem::path& path, Mode mode,
                                           FileSystem& system = real_file_system(), int extra_flags = 0);

    File() = default;  // no file
    File(File&& other) noexcept;
    File& operator=(File&& other) noexcept;
    ~File();

    /// Fills `to` from `offset`, or fails with Errc::truncated when the file ends before; retries EINTR and short
    /// reads.
    [[nodiscard]] Result<> read_at(std::uint64_t offset, MutableData to) const;

    /// Reads up to `to.size()` bytes; fewer only at the end of the file.
    [[nodiscard]] Result<std::size_t> read_some_at(std::uint64_t offset, MutableData to) const;

    /// Writes all of `from`; retries EINTR and short writes.
    [[nodiscard]] Result<> write_at(std::uint64_t offset, ConstData from);

    /// Data (and the size) on stable storage. A failure is final: the same pages must not be trusted again.
    [[nodiscard]] Result<> sync_data();
    [[nodiscard]] Result<> truncate(std::uint64_t size);
    [[nodiscard]] Result<std::uint64_t> size() const;

    /// Takes space for a range; the file is that long afterwards. Errno EOPNOTSUPP where the file system cannot.
    [[nodiscard]] Result<> allocate(std::uint64_t offset, std::uint64_t size);

    /// Closes and reports the error of close(2) (NFS and quotas report late). The destructor closes silently.
    [[nodiscard]] Result<> close();

    [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
    [[nodiscard]] int fd() const noexcept { return fd_; }
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

    /// The file has been renamed: only the text of messages changes.
    void set_path(std::filesystem::path path) { path_ = std::move(path); }

private:
    File(FileSystem& system, int fd, std::filesystem::path path) : system_(&system), fd_(fd), path_(std::move(path)) {}

    FileSystem* system_ = nullptr;
    int fd_ = -1;
    std::filesystem::path path_;
};

/// Renames without ever overwriting. The caller syncs the directory afterwards.
[[nodiscard]] Result<> rename_new(const std::filesystem::path& from, const std::filesystem::path& to,
                                  FileSystem& system = real_file_system());

/// Makes names in a directory (new, renamed, removed) survive a crash.
[[nodiscard]] Result<> sync_directory(const std::filesystem::path& directory, FileSystem& system = real_file_system());

[[nodiscard]] Result<> remove_file(const std::filesystem::path& path, FileSystem& system = real_file_system());

/// The space that a process without privileges may still write on the file system of `path`.
[[nodiscard]] Result<Bytes> free_space(const std::filesystem::path& path, FileSystem& system = real_file_system());

/// The whole of a small file; Errc::limit when it is larger than `limit`.
[[nodiscard]] Result<std::string> read_text(const std::filesystem::path& path, Bytes limit,
                                            FileSystem& system = real_file_system());

enum class Synced { no, yes };

/// Puts a small file where `path` is, in place of what is there: the old or the new one is found by anybody at any
/// time, by way of PATH.new. Synced: also after a loss of power; the new one once it has returned.
[[nodiscard]] Result<> replace_text(const std::filesystem::path& path, std::string_view text, Synced synced,
                                    FileSystem& system = real_file_system());

}  // namespace weir
