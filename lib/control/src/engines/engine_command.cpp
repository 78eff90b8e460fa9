// SPDX-License-Identifier: Apache-2.0
#include "engines/engine_command.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "weir/base/report.hpp"
#include "weir/base/stoppable_sleep.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t output_max = 16U << 10;
constexpr int kill_looks = 50;  // each 10 ms

struct Pipe {
    Descriptor read, write;
};

Result<Pipe> make_pipe() {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno(errno, "cannot make a pipe");
    Pipe made{Descriptor(ends[0]), Descriptor(ends[1])};
    if (::fcntl(made.read.get(), F_SETFL, O_NONBLOCK) != 0) return fail_errno(errno, "cannot set up a pipe");
    return made;
}

/// A file without a name that has the text: a pipe would have to be fed.
Result<Descriptor> input_with(std::string_view text) {
    Descriptor file(::memfd_create("weir-engine-input", MFD_CLOEXEC));
    if (!file) return fail_errno(errno, "cannot make the input of a command");
    while (!text.empty()) {
        const auto written = ::write(file.get(), text.data(), text.size());
        if (written <= 0) return fail_errno(errno, "cannot write the input of a command");
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    ::lseek(file.get(), 0, SEEK_SET);
    return file;
}

/// Of the environment of this process, and `more`.
std::vector<char*> narrow_environment(std::vector<std::string>& more) {
    constexpr std::array<std::string_view, 11> kept{
        "PATH=", "HOME=", "USER=", "LOGNAME=", "SHELL=", "LANG=", "LC_", "TMPDIR=", "SLURM_", "SBATCH_", "SCANCEL_"};
    std::vector<char*> narrow;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string_view text(*variable);
        if (text.starts_with("SLURM_JWT=")) continue;  // its owner's key
        if (std::ranges::any_of(kept, [&](std::string_view begin) { return text.starts_with(begin); }))
            narrow.push_back(*variable);
    }
    for (auto& variable : more) narrow.push_back(variable.data());
    narrow.push_back(nullptr);
    return narrow;
}

/// What is new, as far as there is room; the rest is read so that the command never waits.
void read_into(Descriptor& from, std::string& text) {
    std::array<char, 4096> piece{};
    for (int i = 0; i < 16 && from; ++i) {
        const auto got = ::read(from.get(), piece.data(), piece.size());
        if (got < 0) return;  // EAGAIN: nothing now
        if (got == 0) return from.close();
        text.append(piece.data(), std::min(static_cast<std::size_t>(got), output_max - text.size()));
    }
}

std::string last_line(std::string_view text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
    const auto begin = text.rfind('\n');
    return on_one_line(begin == text.npos ? text : text.substr(begin + 1), 500);
}

}  // namespace

Result<EngineCommand> EngineCommand::start(const std::vector<std::string>& words, std::string_view input,
                                           Environment environment, std::chrono::milliseconds deadline,
                                           const Clock& clock, std::vector<std::string> variables) {
    auto out = WEIR_TRY(make_pipe());
    auto err = WEIR_TRY(make_pipe());
    const auto in = WEIR_TRY(input_with(input));
    auto copies = words;
    std::vector<char*> arguments;
    for (auto& word : copies) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    auto narrow = narrow_environment(variables);

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_adddup2(&actions, in.get(), STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, out.write.get(), STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, err.write.get(), STDERR_FILENO);
    ::posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);  // sockets of libraries, too
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    EngineCommand command;
    const int failed = ::posix_spawnp(&command.pid_, words.front().c_str(), &actions, &attributes, arguments.data(),
                                      environment == Environment::narrow ? narrow.data() : environ);
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) {
        command.pid_ = -1;
        return fail_errno(failed, fmt::format("cannot start {}", words.front()));
    }
    command.name_ = words.front();
    command.out_ = std::move(out.read);
    command.err_ = std::move(err.read);
    command.clock_ = &clock;
    command.deadline_ = deadline;
    command.until_ = clock.now() + deadline;
    return command;
}

EngineCommand::EngineCommand(EngineCommand&& other) noexcept
    : name_(std::move(other.name_)),
      pid_(std::exchange(other.pid_, -1)),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)),
      printed_(std::move(other.printed_)),
      complained_(std::move(other.complained_)),
      clock_(other.clock_),
      until_(other.until_),
      deadline_(other.deadline_) {}

EngineCommand& EngineCommand::operator=(EngineCommand&& other) noexcept {
    if (this == &other) return *this;
    kill();
    name_ = std::move(other.name_);
    pid_ = std::exchange(other.pid_, -1);
    out_ = std::move(other.out_);
    err_ = std::move(other.err_);
    printed_ = std::move(other.printed_);
    complained_ = std::move(other.complained_);
    clock_ = other.clock_;
    until_ = other.until_;
    deadline_ = other.deadline_;
    return *this;
}

EngineCommand::~EngineCommand() { kill(); }

void EngineCommand::kill() noexcept {
    if (pid_ < 0) return;
    ::kill(-pid_, SIGKILL);
    // One that a disk holds does not end even now: it is left behind, as run control must not wait for it.
    int status = 0;
    for (int i = 0; i < kill_looks && ::waitpid(pid_, &status, WNOHANG) == 0; ++i)
        static_cast<void>(stoppable_sleep(10ms, {}));
    pid_ = -1;
}

void EngineCommand::read() {
    read_into(out_, printed_);
    read_into(err_, complained_);
}

std::optional<Result<std::string>> EngineCommand::ended() {
    read();
    int status = 0;
    if (pid_ >= 0 && ::waitpid(pid_, &status, WNOHANG) != pid_) {
        if (clock_->now() < until_) return std::nullopt;
        kill();
        return fail(Errc::limit, fmt::format("{} did not end within {}", name_, to_string(deadline_)));
    }
    pid_ = -1;
    read();  // what it printed last
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::move(printed_);
    auto said = last_line(complained_);
    if (said.empty())
        said = WIFSIGNALED(status) ? fmt::format("was killed by signal {}", WTERMSIG(status))
                                   : fmt::format("ended with code {}", WEXITSTATUS(status));
    return fail(Errc::io, fmt::format("{}: {}", name_, said));
}

}  // namespace weir::control
