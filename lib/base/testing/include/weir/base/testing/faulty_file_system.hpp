// SPDX-License-Identifier: Apache-2.0
// A file system that fails on purpose: the nth call of a kind, once or from then on, or when its space is
// used up. It stands before another one, which does what is not made to fail. For tests only.
#pragma once

#include <cerrno>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "weir/base/file.hpp"

namespace weir::testing {

enum class Call { open, close, pread, pwrite, fdatasync, fsync, ftruncate, fallocate, statvfs, rename_new, unlink };

struct Fault {
    Call call{};
    std::uint64_t nth = 1;      // of the calls of this kind from now on
    int error = EIO;            // 0: pread and pwrite do half of what is asked, at least a byte; nothing fails
    bool from_then_on = false;  // else this call only
    std::string path_part{};    // counts only calls for paths that contain it
};

/// Any thread. close() closes in any case, as the kernel does, and only returns a failure.
class FaultyFileSystem final : public FileSystem {
public:
    explicit FaultyFileSystem(FileSystem& below = real_file_system()) : below_(below) {}

    void set(Fault fault);
    /// Files may grow by so many bytes more; then writes fall short, and fail with ENOSPC. What files are cut or
    /// removed by comes back.
    void limit_space(std::uint64_t bytes);
    /// Called for each sync of a file that was made to fail, before the caller has its result: the kernel takes the
    /// pages for written then, and a later sync does not write them. Set before any other thread calls.
    void on_failed_sync(std::function<void(int fd)> notify) { on_failed_sync_ = std::move(notify); }
    /// The disk is repaired, the space is back.
    void clear();

    /// Whether anything has failed or fallen short, also before clear().
    [[nodiscard]] bool fired() const;

    int open(const char* path, int flags, mode_t mode) override;
    int close(int fd) override;
    ssize_t pread(int fd, void* to, std::size_t size, off_t offset) override;
    ssize_t pwrite(int fd, const void* from, std::size_t size, off_t offset) override;
    int fdatasync(int fd) override;
    int fsync(int fd) override;
    int ftruncate(int fd, off_t size) override;
    int fallocate(int fd, int mode, off_t offset, off_t size) override;
    int statvfs(const char* path, struct ::statvfs* status) override;
    int rename_new(const char* from, const char* to) override;
    int unlink(const char* path) override;

private:
    /// What becomes of a call: nothing, or the error that it ends with (0: it falls short).
    [[nodiscard]] std::optional<int> strikes(Call call, const std::string& path);
    [[nodiscard]] std::string path_of(int fd) const;
    /// Of a write: how much there is room for. 0: none.
    [[nodiscard]] std::size_t take_space(int fd, std::size_t size, off_t offset);
    void give_space_back(std::uint64_t before, std::uint64_t now);

    FileSystem& below_;
    std::function<void(int fd)> on_failed_sync_;
    mutable std::mutex mutex_;
    std::optional<Fault> fault_;
    std::uint64_t seen_ = 0;
    std::optional<std::uint64_t> space_;
    bool fired_ = false;
    std::map<int, std::string> paths_;
};

}  // namespace weir::testing
