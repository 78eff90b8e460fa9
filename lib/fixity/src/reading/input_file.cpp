// SPDX-License-Identifier: Apache-2.0
#include "weir/fixity/input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace weir::fixity {
namespace {

constexpr int poll_ms = 100;  // how soon a read of a silent pipe notices that it shall stop

Failure not_opened(int why) { return {std::nullopt, why, std::strerror(why)}; }
Failure not_opened(std::string text) { return {std::nullopt, 0, std::move(text)}; }
Failure not_read(std::uint64_t offset, int why) { return {offset, why, std::strerror(why)}; }

/// Their sizes mean nothing: files there are made while they are read.
bool on_pseudo_file_system(int fd) {
    struct statfs status{};
    if (::fstatfs(fd, &status) != 0) return false;
    switch (static_cast<std::uint32_t>(status.f_type)) {
        case PROC_SUPER_MAGIC:
        case SYSFS_MAGIC:
        case DEBUGFS_MAGIC:
        case TRACEFS_MAGIC:
        case CGROUP_SUPER_MAGIC:
        case CGROUP2_SUPER_MAGIC:
        case SECURITYFS_MAGIC: return true;
        default: return false;
    }
}

const char* kind_of(mode_t mode) {
    switch (mode & S_IFMT) {
        case S_IFIFO: return "a FIFO";
        case S_IFCHR: return "a character device";
        case S_IFBLK: return "a block device";
        case S_IFSOCK: return "a socket";
        default: return "not a regular file";
    }
}

/// Whether a program may write to the file through a mapping; true also when that cannot be known. A read lease is
/// granted only while no program has the file open for writing, and a mapping keeps it open. The lease is released at
/// once. An open() at that moment waits for the release, and the signal about it is ignored by default.
bool may_be_mapped_by_a_writer(int fd) {
    if (::fcntl(fd, F_SETSIG, SIGURG) != 0 || ::fcntl(fd, F_SETLEASE, F_RDLCK) != 0) return true;
    ::fcntl(fd, F_SETLEASE, F_UNLCK);
    return false;
}

}  // namespace

const char* name(Cache cache) noexcept {
    switch (cache) {
        case Cache::keep: return "cache";
        case Cache::release: return "dropped";
        case Cache::direct: return "direct";
    }
    return "?";
}

std::expected<InputFile, Failure> InputFile::open(const std::string& path, Origin origin, const Reading& how) {
    const bool is_stdin = origin == Origin::named && path == "-";
    int fd;
    if (is_stdin) {
        fd = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    } else {
        // O_NONBLOCK: a FIFO without a writer opens at once. It means nothing to regular files.
        const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (origin == Origin::found ? O_NOFOLLOW : 0);
        do fd = how.system->open(path.c_str(), flags, 0);
        while (fd < 0 && errno == EINTR);
    }
    if (fd < 0) return std::unexpected(not_opened(errno));
    InputFile file(*how.system, fd);
    struct stat status{};
    if (::fstat(fd, &status) != 0) return std::unexpected(not_opened(errno));
    if (S_ISDIR(status.st_mode)) return std::unexpected(not_opened(EISDIR));
    if (S_ISREG(status.st_mode)) {
        // A page that a program has mapped and written already takes its next writes without a new time, until it is
        // written back: then the next one is seen. So all is written back. The times are those from before: a page that
        // is written again meanwhile has its new time then, and shows at the end. Where there is no such program
        // nothing waits for the medium. (Of stdin the descriptor is shared with others, and not touched.)
        if (is_stdin || may_be_mapped_by_a_writer(fd))
            static_cast<void>(::sync_file_range(
                fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER));
    }
    file.stamp_ = stamp_of(status);
    // Only 0 and one page are sizes that a pseudo file system gives.
    const bool pseudo =
        S_ISREG(status.st_mode) && (status.st_size == 0 || status.st_size == 4096) && on_pseudo_file_system(fd);
    file.has_stamp_ = S_ISREG(status.st_mode) && !pseudo;
    file.stream_ = is_stdin || pseudo || !S_ISREG(status.st_mode);
    if (file.stream_ && origin != Origin::named)
        return std::unexpected(
            not_opened(fmt::format("it is {}, which is read only when named itself",
                                   pseudo ? "a file without a size (/proc, /sys)" : kind_of(status.st_mode))));
    if (file.stream_) return file;
    file.cache_ = how.cache;
    if (how.cache == Cache::direct) {
        const int flags = ::fcntl(fd, F_GETFL);
        if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_DIRECT) != 0) {
            file.cache_ = Cache::release;  // this file system has no direct reads; at least what is clean is read anew
            file.release_cache(0, 0);
        }
    }
    // The kernel reads no further than asked: what it brings in ahead would look as if it had been cached before,
    // and stay. Our own thread reads ahead.
    if (file.cache_ == Cache::release) ::posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    return file;
}

InputFile::InputFile(InputFile&& other) noexcept
    : system_(other.system_),
      fd_(std::exchange(other.fd_, -1)),
      stream_(other.stream_),
      has_stamp_(other.has_stamp_),
      stamp_(other.stamp_),
      cache_(other.cache_) {}

InputFile::~InputFile() {
    if (fd_ >= 0) system_->close(fd_);
}

std::expected<std::size_t, Failure> InputFile::read(std::uint64_t offset, MutableData to, const Reading& how) const {
    if (stream_) return read_stream(offset, to, how);
    std::size_t done = 0;
    while (done < to.size()) {
        const auto at = offset + done;
        const auto got = system_->pread(fd_, to.data() + done, to.size() - done, static_cast<off_t>(at));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return std::unexpected(not_read(at, errno));
        if (got == 0) break;
        done += static_cast<std::size_t>(got);
        // A direct read that ends off its grid has met the end of the file; reading again there is EINVAL.
        if (is_direct() && done % alignment != 0) break;
    }
    return done;
}

std::expected<std::size_t, Failure> InputFile::read_stream(std::uint64_t offset, MutableData to,
                                                           const Reading& how) const {
    std::size_t done = 0;
    while (done < to.size()) {
        struct pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
        const int polled = ::poll(&ready, 1, poll_ms);
        if (how.stop && how.stop({})) return std::unexpected(Failure{offset + done, 0, "stopped", true});
        if (polled == 0 || (polled < 0 && errno == EINTR)) continue;
        const auto got = ::read(fd_, to.data() + done, to.size() - done);
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (got < 0) return std::unexpected(not_read(offset + done, errno));
        if (got == 0) break;
        done += static_cast<std::size_t>(got);
    }
    return done;
}

bool InputFile::is_cached(std::uint64_t offset) const noexcept {
    // Asked of a mapping that is never touched. A read that must not wait would do, but it sets out to fetch the
    // page, and on a fast device the page is there before the answer.
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    void* const mapped = ::mmap(nullptr, page, PROT_READ, MAP_SHARED, fd_, static_cast<off_t>(offset / page * page));
    if (mapped != MAP_FAILED) {
        unsigned char resident = 1;
        const bool known = ::mincore(mapped, page, &resident) == 0;
        ::munmap(mapped, page);
        if (known && (resident & 1) == 0) return false;
    }
    // The kernel reports every page of another user's file as resident, so the read decides.
    std::byte byte;
    const struct iovec to{.iov_base = &byte, .iov_len = 1};
    return ::preadv2(fd_, &to, 1, static_cast<off_t>(offset), RWF_NOWAIT) >= 0 || errno != EAGAIN;
}

void InputFile::release_cache(std::uint64_t begin, std::uint64_t length) const noexcept {
    ::posix_fadvise(fd_, static_cast<off_t>(begin), static_cast<off_t>(length),
                    POSIX_FADV_DONTNEED);  // advice; may fail
}

}  // namespace weir::fixity
