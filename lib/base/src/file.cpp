// SPDX-License-Identifier: Apache-2.0
#include "weir/base/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <span>
#include <string_view>
#include <utility>

#include "weir/base/assert.hpp"
#include "weir/base/rename_way.hpp"
#include "weir/base/thread_account.hpp"

namespace weir {

int FileSystem::open(const char* path, int flags, mode_t mode) { return ::open(path, flags, mode); }
int FileSystem::close(int fd) { return ::close(fd); }
ssize_t FileSystem::pread(int fd, void* to, std::size_t size, off_t offset) { return ::pread(fd, to, size, offset); }
ssize_t FileSystem::pwrite(int fd, const void* from, std::size_t size, off_t offset) {
    return ::pwrite(fd, from, size, offset);
}
int FileSystem::fdatasync(int fd) {
    const ScopedWait wait(WaitCause::disk);
    return ::fdatasync(fd);
}
int FileSystem::fsync(int fd) {
    const ScopedWait wait(WaitCause::disk);
    return ::fsync(fd);
}
int FileSystem::ftruncate(int fd, off_t size) { return ::ftruncate(fd, size); }
// A file system that lacks the best way has the next one.
int FileSystem::rename_new(const char* from, const char* to) {
    for (const auto way : rename_ways) {
        if (rename_by(way, from, to) == 0) return 0;
        if (!lacks_way(errno)) break;
    }
    return -1;
}
int FileSystem::unlink(const char* path) { return ::unlink(path); }
int FileSystem::fallocate(int fd, int mode, off_t offset, off_t size) { return ::fallocate(fd, mode, offset, size); }
int FileSystem::statvfs(const char* path, struct ::statvfs* status) { return ::statvfs(path, status); }

FileSystem& real_file_system() noexcept {
    static FileSystem system;  // holds no state
    return system;
}

Result<File> File::open(const std::filesystem::path& path, Mode mode, FileSystem& system, int extra_flags) {
    int flags = O_CLOEXEC | extra_flags;
    const char* doing = "cannot open";
    switch (mode) {
        case Mode::read: flags |= O_RDONLY; break;
        case Mode::read_write: flags |= O_RDWR; break;
        case Mode::create_new:
            flags |= O_RDWR | O_CREAT | O_EXCL;
            doing = "cannot create";
            break;
        case Mode::open_or_create: flags |= O_RDWR | O_CREAT; break;
    }
    int fd;
    do fd = system.open(path.c_str(), flags, 0644);
    while (fd < 0 && errno == EINTR);
    if (fd < 0) return fail_errno(errno, fmt::format("{} {}", doing, path.native()));
    return File(system, fd, path);
}

File::File(File&& other) noexcept
    : system_(other.system_), fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
    if (this != &other) {
        if (fd_ >= 0) system_->close(fd_);
        system_ = other.system_;
        fd_ = std::exchange(other.fd_, -1);
        path_ = std::move(other.path_);
    }
    return *this;
}

File::~File() {
    if (fd_ >= 0) system_->close(fd_);
}

Result<std::size_t> File::read_some_at(std::uint64_t offset, MutableData to) const {
    std::size_t done = 0;
    while (done < to.size()) {
        const auto got = system_->pread(fd_, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return fail_errno(errno, fmt::format("cannot read {} at offset {}", path_.native(), offset + done));
        if (got == 0) break;
        done += static_cast<std::size_t>(got);
    }
    return done;
}

Result<> File::read_at(std::uint64_t offset, MutableData to) const {
    const auto got = WEIR_TRY(read_some_at(offset, to));
    if (got == to.size()) return {};
    return fail(Errc::truncated, fmt::format("{} ends at offset {}, {} bytes before what was asked for", path_.native(),
                                             offset + got, to.size() - got));
}

Result<> File::write_at(std::uint64_t offset, ConstData from) {
    std::size_t done = 0;
    while (done < from.size()) {
        const auto put =
            system_->pwrite(fd_, from.data() + done, from.size() - done, static_cast<off_t>(offset + done));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0)
            return fail_errno(errno, fmt::format("cannot write {} at offset {}", path_.native(), offset + done));
        if (put == 0)
            return fail(Errc::io,
                        fmt::format("cannot write {} at offset {}: nothing was taken", path_.native(), offset + done));
        done += static_cast<std::size_t>(put);
    }
    return {};
}

Result<> File::sync_data() {
    if (system_->fdatasync(fd_) == 0) return {};
    return fail_errno(errno, fmt::format("cannot sync {}", path_.native()));
}

Result<> File::truncate(std::uint64_t size) {
    if (system_->ftruncate(fd_, static_cast<off_t>(size)) == 0) return {};
    return fail_errno(errno, fmt::format("cannot set the size of {} to {}", path_.native(), size));
}

Result<std::uint64_t> File::size() const {
    struct stat status{};
    if (::fstat(fd_, &status) == 0) return static_cast<std::uint64_t>(status.st_size);
    return fail_errno(errno, fmt::format("cannot stat {}", path_.native()));
}

Result<> File::allocate(std::uint64_t offset, std::uint64_t size) {
    int got;
    do got = system_->fallocate(fd_, 0, static_cast<off_t>(offset), static_cast<off_t>(size));
    while (got != 0 && errno == EINTR);
    if (got == 0) return {};
    return fail_errno(errno, fmt::format("cannot take space for {}", path_.native()));
}

Result<> File::close() {
    WEIR_ASSERT(fd_ >= 0);
    if (system_->close(std::exchange(fd_, -1)) == 0) return {};
    return fail_errno(errno, fmt::format("cannot close {}", path_.native()));
}

Result<> rename_new(const std::filesystem::path& from, const std::filesystem::path& to, FileSystem& system) {
    if (system.rename_new(from.c_str(), to.c_str()) == 0) return {};
    return fail_errno(errno, fmt::format("cannot rename {} to {}", from.native(), to.native()));
}

Result<> sync_directory(const std::filesystem::path& directory, FileSystem& system) {
    const int fd = system.open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) return fail_errno(errno, fmt::format("cannot open directory {}", directory.native()));
    const int synced = system.fsync(fd);
    const int why = errno;
    system.close(fd);
    if (synced == 0) return {};
    return fail_errno(why, fmt::format("cannot sync directory {}", directory.native()));
}

Result<> remove_file(const std::filesystem::path& path, FileSystem& system) {
    if (system.unlink(path.c_str()) == 0) return {};
    return fail_errno(errno, fmt::format("cannot remove {}", path.native()));
}

Result<Bytes> free_space(const std::filesystem::path& path, FileSystem& system) {
    struct ::statvfs status{};
    if (system.statvfs(path.c_str(), &status) != 0)
        return fail_errno(errno, fmt::format("cannot ask for the free space of {}", path.native()));
    return Bytes{static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize};
}

Result<std::string> read_text(const std::filesystem::path& path, Bytes limit, FileSystem& system) {
    auto file = WEIR_TRY(File::open(path, File::Mode::read, system));
    const auto size = WEIR_TRY(file.size());
    if (size > limit.count())
        return fail(Errc::limit, fmt::format("{} is larger than {}", path.native(), to_string(limit)));
    // A file of the kernel has size 0 and bytes all the same.
    std::string text(size > 0 ? size : limit.count() + 1, '\0');
    const auto got = WEIR_TRY(file.read_some_at(0, std::as_writable_bytes(std::span(text.data(), text.size()))));
    if (got > limit.count())
        return fail(Errc::limit, fmt::format("{} is larger than {}", path.native(), to_string(limit)));
    text.resize(got);
    return text;
}

Result<> replace_text(const std::filesystem::path& path, std::string_view text, Synced synced, FileSystem& system) {
    auto fresh = path;
    fresh += ".new";
    auto file = WEIR_TRY(File::open(fresh, File::Mode::open_or_create, system));
    WEIR_TRY(file.truncate(0));
    WEIR_TRY(file.write_at(0, std::as_bytes(std::span(text))));
    if (synced == Synced::yes) WEIR_TRY(file.sync_data());
    WEIR_TRY(file.close());
    std::error_code failed;
    std::filesystem::rename(fresh, path, failed);
    if (failed) return fail_errno(failed.value(), fmt::format("cannot write {}", path.native()));
    if (synced == Synced::no) return {};
    return sync_directory(path.has_parent_path() ? path.parent_path() : ".", system);
}

}  // namespace weir
