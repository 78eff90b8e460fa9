// SPDX-License-Identifier: Apache-2.0
#include "sums/scrub/scrub_state.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "weir/base/file.hpp"

namespace weir::app {
namespace {

constexpr std::size_t size_max = 1U << 20;
constexpr int lock_tries = 100;

bool lock(int fd) noexcept { return ::flock(fd, LOCK_EX | LOCK_NB) == 0; }

/// The file that is open still has the name: the process that had the lock before may have replaced or removed it.
bool has_name(int fd, const std::filesystem::path& path) noexcept {
    struct stat open{}, named{};
    return ::fstat(fd, &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
           open.st_ino == named.st_ino;
}

std::unexpected<Error> cannot(const char* what, const std::filesystem::path& path) {
    return fail_errno(errno, fmt::format("cannot {} the state {}", what, path.native()));
}

bool write_all(int fd, std::string_view text) noexcept {
    while (!text.empty()) {
        const auto written = ::write(fd, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return ::fsync(fd) == 0;
}

}  // namespace

Result<ScrubState> ScrubState::open(const std::filesystem::path& path) {
    for (int i = 0; i < lock_tries; ++i) {
        ScrubState state(path, ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
        if (!state.fd_) return cannot("open", path);
        if (!lock(state.fd_.get())) {
            if (errno != EWOULDBLOCK) return cannot("lock", path);
            return fail(Errc::refused, fmt::format("another scrub has the state {}; wait for its end, or give this one "
                                                   "a state of its own with --state",
                                                   path.native()));
        }
        if (has_name(state.fd_.get(), path)) return state;
    }
    return fail(Errc::refused,
                fmt::format("the state {} is replaced all the time; give this scrub a state of its own with --state",
                            path.native()));
}

Result<std::string> ScrubState::read() const {
    std::string text(size_max + 1, '\0');
    std::size_t size = 0;
    while (size < text.size()) {
        const auto got = ::pread(fd_.get(), text.data() + size, text.size() - size, static_cast<off_t>(size));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return cannot("read", path_);
        if (got == 0) break;
        size += static_cast<std::size_t>(got);
    }
    if (size > size_max)
        return fail(Errc::limit, fmt::format("{} is too large for the state of a scrub; name another file with --state",
                                             path_.native()));
    text.resize(size);
    return text;
}

Result<> ScrubState::write(std::string_view text) {
    auto temporary = path_;
    temporary += fmt::format(".weir-{}", ::getpid());
    ::unlink(temporary.c_str());  // of one that was killed; the lock is ours
    ScrubState next(path_, ::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!next.fd_) return cannot("write", path_);
    // Locked before it has the name, so that no other process comes between.
    if (!lock(next.fd_.get()) || !write_all(next.fd_.get(), text) || ::rename(temporary.c_str(), path_.c_str()) != 0) {
        const int why = errno;
        ::unlink(temporary.c_str());
        errno = why;
        return cannot("write", path_);
    }
    fd_ = std::move(next.fd_);
    return sync_directory(path_.has_parent_path() ? path_.parent_path() : ".");
}

Result<> ScrubState::remove() {
    if (::unlink(path_.c_str()) != 0 && errno != ENOENT) return cannot("remove", path_);
    return {};
}

}  // namespace weir::app
