// SPDX-License-Identifier: Apache-2.0
#include "cli/process/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

extern char** environ;

namespace weir::app {

Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& arguments, bool capture) {
    std::array<int, 2> pipe{-1, -1};
    if (capture && ::pipe2(pipe.data(), O_CLOEXEC) != 0) return fail_errno(errno, "cannot make a pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (capture) posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);  // our threads block signals that the child should receive
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    std::vector<char*> pointers;
    auto copies = arguments;
    for (auto& argument : copies) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    pid_t pid = -1;
    const int failed = ::posix_spawnp(&pid, pointers[0], &actions, &attributes, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (capture) ::close(pipe[1]);
    if (failed != 0) {
        if (capture) ::close(pipe[0]);
        return fail_errno(failed, fmt::format("cannot start {}", arguments.front()));
    }
    return ChildProcess(pid, pipe[0]);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), output_(std::exchange(other.output_, -1)) {}

ChildProcess::~ChildProcess() {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        static_cast<void>(wait());
    }
    if (output_ >= 0) ::close(output_);
}

ChildProcess::Status ChildProcess::wait() {
    Status status;
    std::array<char, 4096> buffer;
    while (output_ >= 0) {
        const auto got = ::read(output_, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        status.output.append(buffer.data(), static_cast<std::size_t>(got));
    }
    int code = 0;
    rusage usage{};
    while (::wait4(pid_, &code, 0, &usage) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    status.exit_code = WIFEXITED(code) ? WEXITSTATUS(code) : 128 + WTERMSIG(code);
    const auto nanoseconds = [](const timeval& t) {
        return std::chrono::seconds{t.tv_sec} + std::chrono::microseconds{t.tv_usec};
    };
    status.cpu = nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
    return status;
}

std::string ChildProcess::self() { return std::filesystem::read_symlink("/proc/self/exe").native(); }

}  // namespace weir::app
