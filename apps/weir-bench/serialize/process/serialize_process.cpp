// SPDX-License-Identifier: Apache-2.0
#include "serialize/process/serialize_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <sstream>
#include <utility>

#include "peers/serve.hpp"

extern char** environ;

namespace weir::app {
namespace {

constexpr std::chrono::seconds visit_patience{60};

std::vector<std::string> words_of(const std::string& line) {
    std::vector<std::string> words;
    std::istringstream from(line);
    for (std::string word; std::getline(from, word, '\t');) words.push_back(word);
    return words;
}

/// 0 for what is no number: a peer's line is not trusted to be one of ours.
template <class Number>
Number number(const std::string& word) {
    Number value{};
    std::istringstream(word) >> value;
    return value;
}

}  // namespace

Result<JobProcess> JobProcess::start(const std::vector<std::string>& arguments, const std::filesystem::path& log,
                                     std::chrono::seconds patience) {
    std::array<int, 2> sockets{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0)
        return fail_errno(errno, "cannot make a socket pair");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&actions, sockets[1], jobs::peer_descriptor);
    std::vector<char*> pointers;
    auto copies = arguments;
    for (auto& argument : copies) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    pid_t pid = -1;
    const int failed = ::posix_spawnp(&pid, pointers[0], &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(sockets[1]);
    if (failed != 0) {
        ::close(sockets[0]);
        return fail_errno(failed, fmt::format("cannot start {}", arguments.front()));
    }
    JobProcess process(pid, sockets[0]);
    WEIR_TRY(process.ask_for_list(patience));
    return process;
}

Result<JobProcess> JobProcess::fork_with(jobs::Jobs (*make)()) {
    std::array<int, 2> sockets{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0)
        return fail_errno(errno, "cannot make a socket pair");
    const auto parent = ::getpid();
    const auto pid = ::fork();
    if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::close(sockets[0]);
        if (::getppid() == parent) jobs::serve(make(), sockets[1]);
        ::_exit(0);
    }
    const int failed = errno;
    ::close(sockets[1]);
    if (pid < 0) {
        ::close(sockets[0]);
        return fail_errno(failed, "cannot fork");
    }
    JobProcess process(pid, sockets[0]);
    WEIR_TRY(process.ask_for_list(visit_patience));
    return process;
}

JobProcess::JobProcess(JobProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      socket_(std::exchange(other.socket_, -1)),
      about_(std::move(other.about_)),
      waiting_(std::move(other.waiting_)),
      wrong_(std::move(other.wrong_)),
      jobs_(std::move(other.jobs_)) {}

JobProcess::~JobProcess() {
    if (socket_ >= 0) ::close(socket_);
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

Result<jobs::Figures> JobProcess::run(std::size_t job, const jobs::Visit& visit) {
    std::string question = fmt::format("run {} {} {} {} {} {}", job, visit.threads, visit.batches, visit.seconds,
                                       visit.place, visit.copies ? 1 : 0);
    for (const int cpu : visit.cpus) question += fmt::format(" {}", cpu);
    if (!jobs::send_text(socket_, question + "\n")) return fail(Errc::io, fmt::format("{} has gone", about_));
    const auto answer = WEIR_TRY(line(visit_patience));
    const auto words = words_of(answer);
    if (words.size() != 5 || words[0] != "figures")
        return fail(Errc::corrupt, fmt::format("{} answers \"{}\"", about_, answer));
    return jobs::Figures{number<double>(words[1]), number<double>(words[2]), number<std::size_t>(words[3]),
                         number<std::size_t>(words[4])};
}

Result<> JobProcess::ask_for_list(std::chrono::seconds patience) {
    if (!jobs::send_text(socket_, "list\n")) return fail(Errc::io, "it ended at once");
    while (true) {
        const auto answer = WEIR_TRY(line(patience));
        const auto words = words_of(answer);
        if (words.empty()) continue;
        if (words[0] == "end") return {};
        if (words[0] == "about" && words.size() == 2) about_ = words[1];
        if (words[0] == "wrong" && words.size() == 2) wrong_.push_back(words[1]);
        if (words[0] == "job" && words.size() == 6)
            jobs_.push_back({.codec = words[1],
                             .subject = words[2],
                             .writes = words[3] == "write",
                             .bytes = number<std::uint64_t>(words[4]),
                             .hash = number<std::uint64_t>(words[5])});
    }
}

Result<std::string> JobProcess::line(std::chrono::seconds patience) {
    const auto late = std::chrono::steady_clock::now() + patience;
    while (true) {
        if (const auto end = waiting_.find('\n'); end != std::string::npos) {
            auto found = waiting_.substr(0, end);
            waiting_.erase(0, end + 1);
            return found;
        }
        const auto remaining =
            std::chrono::duration_cast<std::chrono::milliseconds>(late - std::chrono::steady_clock::now());
        pollfd readable{socket_, POLLIN, 0};
        const int ready = remaining.count() > 0 ? ::poll(&readable, 1, static_cast<int>(remaining.count())) : 0;
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return fail(Errc::io, fmt::format("no answer within {} s", patience.count()));
        std::array<char, 4096> buffer;
        const auto got = ::read(socket_, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return fail(Errc::io, "it ended before it answered");
        waiting_.append(buffer.data(), static_cast<std::size_t>(got));
    }
}

}  // namespace weir::app
