// SPDX-License-Identifier: Apache-2.0
#include "workers/worker_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "weir/base/descriptor.hpp"
#include "weir/base/endian.hpp"

namespace weir::selection {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds stop_check{50};  // how late a wait notices that it shall stop
constexpr int child_socket = 3, child_memory = 4;

/// Above the numbers that the child's descriptors get, so that none overwrites another.
void lift(Descriptor& descriptor) noexcept {
    const int lifted = ::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 10);
    if (lifted >= 0) descriptor = Descriptor(lifted);
}

Result<pid_t> spawn(const std::vector<std::string>& command, int socket, int memory) {
    std::vector<char*> arguments;
    for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, 2, 1);  // output of a plug-in must not mix with the station's stdout
    ::posix_spawn_file_actions_adddup2(&actions, socket, child_socket);
    ::posix_spawn_file_actions_adddup2(&actions, memory, child_memory);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    // A group of its own: Ctrl-C at a terminal is for the station, which ends its workers when it has drained.
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    pid_t process = -1;
    const int failed =
        ::posix_spawn(&process, command.front().c_str(), &actions, &attributes, arguments.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) return fail_errno(failed, fmt::format("cannot start {}", command.front()));
    return process;
}

}  // namespace

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const std::vector<std::string>& command, SteadyTime until,
                                                            const std::stop_token& stop) {
    int sockets[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
        return fail_errno(errno, "cannot make a pair of sockets");
    Descriptor ours(sockets[0]), theirs(sockets[1]);
    Descriptor memory(::memfd_create("weir-selection", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    // The worker shall not be able to take the memory away from under us.
    if (memory.get() < 0 || ::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0)
        return fail_errno(errno, "cannot make shared memory");
    lift(theirs);
    lift(memory);
    const auto process = WEIR_TRY(spawn(command, theirs.get(), memory.get()));
    std::unique_ptr<WorkerProcess> worker(new WorkerProcess(ours.release(), memory.release(), process));
    ::close(theirs.release());
    WEIR_TRY(worker->make_room(1U << 20));
    const auto answer = worker->listen(until, stop);
    if (answer.kind == Answer::Kind::failed && answer.text.empty()) return worker;  // "ready"
    if (answer.kind == Answer::Kind::too_late) return fail(Errc::limit, "it did not load within its time limit");
    return fail(Errc::usage, answer.text);
}

WorkerProcess::~WorkerProcess() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    if (map_ != nullptr) ::munmap(map_, mapped_);
    ::close(memory_);
    ::close(socket_);
}

Result<> WorkerProcess::make_room(std::size_t size) {
    if (size <= mapped_) return {};
    const auto wanted = std::bit_ceil(size);
    if (::ftruncate(memory_, static_cast<off_t>(wanted)) != 0) return fail_errno(errno, "cannot enlarge shared memory");
    void* map = ::mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_SHARED, memory_, 0);
    if (map == MAP_FAILED) return fail_errno(errno, "cannot map shared memory");
    if (map_ != nullptr) ::munmap(map_, mapped_);
    map_ = static_cast<std::byte*>(map);
    mapped_ = wanted;
    return {};
}

WorkerProcess::Answer WorkerProcess::ask(const Event& event, SteadyTime until, const std::stop_token& stop) {
    const auto size = shared_event_size(event);
    if (auto room = make_room(size); !room) return {Answer::Kind::ended, {}, room.error().message()};
    write_event(event, {map_, size});
    std::byte words[8];
    store_little(std::span(words), 0, std::uint64_t{size});
    if (::send(socket_, words, sizeof words, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof words)
        return {Answer::Kind::ended, {}, how_it_ended()};
    auto answer = listen(until, stop);
    if (answer.kind == Answer::Kind::failed && answer.text.empty())
        return {Answer::Kind::nonsense, {}, "it answered with nothing"};
    return answer;
}

WorkerProcess::Answer WorkerProcess::listen(SteadyTime until, const std::stop_token& stop) {
    using Kind = Answer::Kind;
    const auto not_all = [this](Got got) {
        if (got == Got::too_late)
            return Answer{Kind::too_late, {}, "it gave no answer within its time limit and was killed"};
        if (got == Got::stopped) return Answer{Kind::stopped, {}, "the station stops"};
        return Answer{Kind::ended, {}, how_it_ended()};
    };
    std::byte bytes[answer_head];
    if (const auto got = receive(bytes, until, stop); got != Got::all) return not_all(got);
    const auto head = read_answer_head(bytes);
    if (!head) return {Kind::nonsense, {}, head.error().message()};
    body_.resize(head->size);
    if (const auto got = receive(body_, until, stop); got != Got::all) return not_all(got);
    if (head->kind == AnswerKind::ready) return {Kind::failed, {}, ""};
    if (head->kind == AnswerKind::failed) {
        std::string text(as_text(body_));
        return {Kind::failed, {}, text.empty() ? "it failed without a reason" : std::move(text)};
    }
    auto decision = read_decision(body_);
    if (!decision) {
        // A well-formed decision that is not allowed is a mistake of the selection, as an exception is; its process is
        // sound.
        const bool well_formed = decision.error().code == Errc::limit || decision.error().code == Errc::usage;
        return {well_formed ? Kind::failed : Kind::nonsense, {}, decision.error().context};
    }
    return {Kind::decision, std::move(*decision), ""};
}

WorkerProcess::Got WorkerProcess::receive(MutableData to, SteadyTime until, const std::stop_token& stop) {
    while (!to.empty()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        if (left <= 0ms) return Got::too_late;
        if (stop.stop_requested()) return Got::stopped;
        pollfd wait{.fd = socket_, .events = POLLIN, .revents = 0};
        if (::poll(&wait, 1, static_cast<int>(std::min(left, stop_check).count())) <= 0) continue;
        const auto got = ::recv(socket_, to.data(), to.size(), MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (got <= 0) return Got::ended;
        to = to.subspan(static_cast<std::size_t>(got));
    }
    return Got::all;
}

std::string WorkerProcess::how_it_ended() {
    int status = 0;
    for (int attempt = 0; attempt < 50; ++attempt) {  // its socket is closed a moment before it can be waited for
        siginfo_t info{};
        if (::waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid == process_) {
            status = info.si_status;
            if (info.si_code == CLD_EXITED) return fmt::format("its process ended with exit code {}", status);
            return fmt::format("its process was ended by signal {} ({})", status, ::strsignal(status));
        }
        std::this_thread::sleep_for(1ms);
    }
    return "its process closed the connection";
}

}  // namespace weir::selection
