// SPDX-License-Identifier: Apache-2.0
#include "weir/base/testing/faulty_file_system.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace weir::testing {
namespace {

int failed(int error) {
    errno = error;
    return -1;
}

std::size_t half(std::size_t size) { return std::max<std::size_t>(size / 2, 1); }

}  // namespace

void FaultyFileSystem::set(Fault fault) {
    const std::scoped_lock lock(mutex_);
    fault_ = std::move(fault);
    seen_ = 0;
}

void FaultyFileSystem::limit_space(std::uint64_t bytes) {
    const std::scoped_lock lock(mutex_);
    space_ = bytes;
}

void FaultyFileSystem::clear() {
    const std::scoped_lock lock(mutex_);
    fault_.reset();
    space_.reset();
}

bool FaultyFileSystem::fired() const {
    const std::scoped_lock lock(mutex_);
    return fired_;
}

std::optional<int> FaultyFileSystem::strikes(Call call, const std::string& path) {
    const std::scoped_lock lock(mutex_);
    if (!fault_ || fault_->call != call || !path.contains(fault_->path_part)) return std::nullopt;
    ++seen_;
    if (seen_ < fault_->nth || (seen_ > fault_->nth && !fault_->from_then_on)) return std::nullopt;
    fired_ = true;
    return fault_->error;
}

std::string FaultyFileSystem::path_of(int fd) const {
    const std::scoped_lock lock(mutex_);
    const auto known = paths_.find(fd);
    return known == paths_.end() ? std::string() : known->second;
}

std::size_t FaultyFileSystem::take_space(int fd, std::size_t size, off_t offset) {
    const std::scoped_lock lock(mutex_);
    if (!space_) return size;
    struct stat status{};
    if (::fstat(fd, &status) != 0) return size;
    const auto end = static_cast<std::uint64_t>(offset) + size;
    const auto before = static_cast<std::uint64_t>(status.st_size);
    const auto grows = end > before ? std::min<std::uint64_t>(end - before, size) : 0;
    const auto granted = std::min(grows, *space_);
    *space_ -= granted;
    if (granted < grows) fired_ = true;
    return size - static_cast<std::size_t>(grows - granted);
}

void FaultyFileSystem::give_space_back(std::uint64_t before, std::uint64_t now) {
    const std::scoped_lock lock(mutex_);
    if (space_ && before > now) *space_ += before - now;
}

int FaultyFileSystem::open(const char* path, int flags, mode_t mode) {
    if (const auto error = strikes(Call::open, path); error && *error != 0) return failed(*error);
    const int fd = below_.open(path, flags, mode);
    if (fd < 0) return fd;
    const std::scoped_lock lock(mutex_);
    paths_[fd] = path;
    return fd;
}

int FaultyFileSystem::close(int fd) {
    const auto error = strikes(Call::close, path_of(fd));
    {
        const std::scoped_lock lock(mutex_);
        paths_.erase(fd);  // before the number can be used again
    }
    const int closed = below_.close(fd);
    return error && *error != 0 ? failed(*error) : closed;
}

ssize_t FaultyFileSystem::pread(int fd, void* to, std::size_t size, off_t offset) {
    const auto error = strikes(Call::pread, path_of(fd));
    if (error && *error != 0) return failed(*error);
    return below_.pread(fd, to, error ? half(size) : size, offset);
}

ssize_t FaultyFileSystem::pwrite(int fd, const void* from, std::size_t size, off_t offset) {
    const auto error = strikes(Call::pwrite, path_of(fd));
    if (error && *error != 0) return failed(*error);
    const auto fits = take_space(fd, error ? half(size) : size, offset);
    if (fits == 0 && size > 0) return failed(ENOSPC);
    return below_.pwrite(fd, from, fits, offset);
}

int FaultyFileSystem::fdatasync(int fd) {
    if (const auto error = strikes(Call::fdatasync, path_of(fd)); error && *error != 0) {
        if (on_failed_sync_) on_failed_sync_(fd);
        return failed(*error);
    }
    return below_.fdatasync(fd);
}

int FaultyFileSystem::fsync(int fd) {
    if (const auto error = strikes(Call::fsync, path_of(fd)); error && *error != 0) return failed(*error);
    return below_.fsync(fd);
}

int FaultyFileSystem::ftruncate(int fd, off_t size) {
    if (const auto error = strikes(Call::ftruncate, path_of(fd)); error && *error != 0) return failed(*error);
    struct stat status{};
    const bool known = ::fstat(fd, &status) == 0;
    const int cut = below_.ftruncate(fd, size);
    if (cut == 0 && known)
        give_space_back(static_cast<std::uint64_t>(status.st_size), static_cast<std::uint64_t>(size));
    return cut;
}

int FaultyFileSystem::fallocate(int fd, int mode, off_t offset, off_t size) {
    if (const auto error = strikes(Call::fallocate, path_of(fd)); error && *error != 0) return failed(*error);
    const auto wanted = static_cast<std::size_t>(size);
    if (const auto fits = take_space(fd, wanted, offset); fits < wanted) {
        give_space_back(fits, 0);  // all or nothing
        return failed(ENOSPC);
    }
    return below_.fallocate(fd, mode, offset, size);
}

int FaultyFileSystem::statvfs(const char* path, struct ::statvfs* status) {
    if (const auto error = strikes(Call::statvfs, path); error && *error != 0) return failed(*error);
    const int got = below_.statvfs(path, status);
    const std::scoped_lock lock(mutex_);
    if (got == 0 && space_) {
        status->f_frsize = 1;
        status->f_bavail = *space_;
    }
    return got;
}

int FaultyFileSystem::rename_new(const char* from, const char* to) {
    if (const auto error = strikes(Call::rename_new, from); error && *error != 0) return failed(*error);
    return below_.rename_new(from, to);
}

int FaultyFileSystem::unlink(const char* path) {
    if (const auto error = strikes(Call::unlink, path); error && *error != 0) return failed(*error);
    struct stat status{};
    const bool known = ::stat(path, &status) == 0;
    const int removed = below_.unlink(path);
    if (removed == 0 && known) give_space_back(static_cast<std::uint64_t>(status.st_size), 0);
    return removed;
}

}  // namespace weir::testing
