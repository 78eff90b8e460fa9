// SPDX-License-Identifier: Apache-2.0
// fork and exec by hand: posix_spawn cannot ask the kernel for the signal at the death of the parent.
#include "weir/control/local_launcher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "weir/base/descriptor.hpp"
#include "weir/control/log_book.hpp"

namespace weir::control {
namespace {

constexpr Bytes log_size_max = 16_MiB;
constexpr std::size_t announcement_max = 4096;
constexpr int end_wait_max_ms = 1000;  // of a killed process

class LocalProcess final : public LaunchedProcess {
public:
    LocalProcess(pid_t pid, Descriptor out) : pid_(pid), out_(std::move(out)) {}
    LocalProcess(const LocalProcess&) = delete;
    LocalProcess& operator=(const LocalProcess&) = delete;
    ~LocalProcess() override {
        if (end_) return;
        kill();
        // Its end is what is waited for; a process that hangs in a disk outlives its SIGKILL, so not for long.
        const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));  // glibc 2.36 has none for C++
        pollfd ends{process.get(), POLLIN, 0};
        while (::poll(&ends, 1, end_wait_max_ms) < 0 && errno == EINTR) continue;
        int status = 0;
        static_cast<void>(::waitpid(pid_, &status, WNOHANG));
    }

    [[nodiscard]] std::int64_t pid() const noexcept override { return pid_; }

    [[nodiscard]] std::optional<std::string> announcement() override {
        read_output();
        if (!line_done_) return std::nullopt;
        return line_;
    }

    // The process is ours and no other waits for it, so its number means it until waitpid has returned its end.
    [[nodiscard]] std::optional<ProcessEnd> ended() override {
        read_output();
        if (end_) return end_;
        int status = 0;
        if (::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
        end_ = WIFSIGNALED(status) ? ProcessEnd{0, WTERMSIG(status), {}} : ProcessEnd{WEXITSTATUS(status), 0, {}};
        ::kill(-pid_,
               SIGKILL);  // helpers that it left behind; the group's number is taken as long as one of them lives
        return end_;
    }

    void terminate() noexcept override {
        if (!end_) ::kill(pid_, SIGTERM);
    }
    void kill() noexcept override {
        if (!end_) ::kill(-pid_, SIGKILL);
    }

private:
    /// Keeps the first line; the rest is read so that the process never waits for us.
    void read_output() {
        std::array<char, 4096> piece{};
        for (int i = 0; i < 16 && out_.get() >= 0; ++i) {
            const auto got = ::read(out_.get(), piece.data(), piece.size());
            if (got < 0) return;  // EAGAIN: nothing now
            if (got == 0) return out_.close();
            for (const char c : std::string_view(piece.data(), static_cast<std::size_t>(got))) {
                if (line_done_) break;
                if (c == '\n' || line_.size() == announcement_max) {
                    line_done_ = true;
                } else {
                    line_ += c;
                }
            }
        }
    }

    const pid_t pid_;
    Descriptor out_;
    std::string line_;
    bool line_done_ = false;
    std::optional<ProcessEnd> end_;
};

/// In the child, between fork and exec: calls that are safe there only. Returns when something failed.
void become(char* const* arguments, int out, int log, int null, pid_t parent) noexcept {
    ::setpgid(0, 0);
    if (::prctl(PR_SET_PDEATHSIG, SIGTERM) != 0) return;
    if (::getppid() != parent) ::_exit(1);  // it died before we asked
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(number, SIG_DFL);
    if (::dup2(null, STDIN_FILENO) < 0 || ::dup2(out, STDOUT_FILENO) < 0 || ::dup2(log, STDERR_FILENO) < 0) return;
    ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);  // sockets of libraries that do not mark theirs
    ::execv(arguments[0], arguments);
}

}  // namespace

std::string ProcessEnd::text() const {
    if (!why.empty()) return why;
    if (signal == 0) return fmt::format("ended with code {}", code);
    const char* word = ::sigdescr_np(signal);
    return fmt::format("was ended by signal {} ({})", signal, word != nullptr ? word : "?");
}

std::unique_ptr<LogLines> Launcher::log_of(const LaunchRequest& request) {
    return std::make_unique<LogTail>(request.log, log_size_max);
}

Result<std::unique_ptr<LaunchedProcess>> LocalLauncher::launch(const LaunchRequest& request) {
    const auto failed = [&](int error, std::string_view what) {
        return fail_errno(error, fmt::format("cannot start {}: {}", request.name, what));
    };
    std::array<int, 2> out{-1, -1};
    std::array<int, 2> trouble{-1, -1};  // the child's errno, if exec fails; else it closes
    if (::pipe2(out.data(), O_CLOEXEC) != 0) return failed(errno, "no pipe");
    Descriptor out_read(out[0]);
    Descriptor out_write(out[1]);
    if (::pipe2(trouble.data(), O_CLOEXEC) != 0) return failed(errno, "no pipe");
    Descriptor trouble_read(trouble[0]);
    Descriptor trouble_write(trouble[1]);
    const Descriptor log(::open(request.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (log.get() < 0) return failed(errno, fmt::format("its log {}", request.log.native()));
    const Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (null.get() < 0) return failed(errno, "/dev/null");
    if (::fcntl(out_read.get(), F_SETFL, O_NONBLOCK) != 0) return failed(errno, "its output");

    auto copies = request.arguments;
    std::vector<char*> arguments;
    for (auto& argument : copies) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    const auto parent = ::getpid();
    const auto pid = ::fork();
    if (pid < 0) return failed(errno, "no process");
    if (pid == 0) {
        become(arguments.data(), out_write.get(), log.get(), null.get(), parent);
        const int error = errno;
        static_cast<void>(!::write(trouble_write.get(), &error, sizeof error));
        ::_exit(127);
    }
    ::setpgid(pid, pid);  // in both processes: it is done, whichever of them is first
    trouble_write.close();
    out_write.close();
    auto process = std::make_unique<LocalProcess>(pid, std::move(out_read));
    int error = 0;
    ssize_t got = 0;
    do {
        got = ::read(trouble_read.get(), &error, sizeof error);
    } while (got < 0 && errno == EINTR);
    if (got == sizeof error) return failed(error, request.arguments.front());
    return process;
}

}  // namespace weir::control
