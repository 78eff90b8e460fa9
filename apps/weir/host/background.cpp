// SPDX-License-Identifier: Apache-2.0
#include "host/background.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace weir::app {
namespace {

constexpr int signal_base = 128;

/// Until it has begun, or has ended.
[[noreturn]] void wait_for(pid_t process, int begun) {
    char word = 0;
    ssize_t got = 0;
    do {
        got = ::read(begun, &word, 1);
    } while (got < 0 && errno == EINTR);
    if (got == 1) ::_exit(0);
    int status = 0;
    while (::waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : signal_base + WTERMSIG(status));
}

}  // namespace

Result<Background> Background::begin() {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno(errno, "cannot make a pipe");
    const Descriptor read_end(ends[0]);
    Descriptor write_end(ends[1]);
    const auto process = ::fork();
    if (process < 0) return fail_errno(errno, "cannot go into the background");
    if (process > 0) {
        write_end.close();
        wait_for(process, read_end.get());
    }
    ::setsid();
    return Background(std::move(write_end));
}

Result<> Background::leave(const std::filesystem::path& log) {
    const Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const Descriptor file(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (!null || !file) return fail_errno(errno, fmt::format("cannot open {}", (null ? log : "/dev/null").native()));
    if (::dup2(null.get(), STDIN_FILENO) < 0 || ::dup2(file.get(), STDOUT_FILENO) < 0 ||
        ::dup2(file.get(), STDERR_FILENO) < 0)
        return fail_errno(errno, "cannot leave the command");
    const char word = 1;
    static_cast<void>(!::write(begun_.get(), &word, 1));  // who has ended already needs no word
    begun_.close();
    return {};
}

}  // namespace weir::app
