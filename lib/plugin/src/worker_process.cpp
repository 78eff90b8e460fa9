// SPDX-License-Identifier: Apache-2.0
#include "weir/plugin/worker_process.hpp"

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
#include <utility>

#include "weir/base/stoppable_sleep.hpp"
#include "weir/plugin/worker_end.hpp"

namespace weir::plugin {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds stop_check{50};  // how late a wait notices that it shall stop

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
    ::posix_spawn_file_actions_adddup2(&actions, socket, worker_socket);
    ::posix_spawn_file_actions_adddup2(&actions, memory, worker_memory);
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

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const std::vector<std::string>& command,
                                                            const MessageLimits& limits, const Clock& clock) {
    int sockets[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
        return fail_errno(errno, "cannot make a pair of sockets");
    Descriptor ours(sockets[0]), theirs(sockets[1]);
    Descriptor memory(::memfd_create("weir-plugin", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    // The worker shall not be able to take the memory away from under us.
    if (!memory || ::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0)
        return fail_errno(errno, "cannot make shared memory");
    lift(theirs);
    lift(memory);
    const auto process = WEIR_TRY(spawn(command, theirs.get(), memory.get()));
    return std::unique_ptr<WorkerProcess>(
        new WorkerProcess(std::move(ours), std::move(memory), process, limits, clock));
}

WorkerProcess::~WorkerProcess() {
    ::kill(-process_, SIGKILL);  // its group: with the processes that the plug-in started
    ::waitpid(process_, nullptr, 0);
    if (map_ != nullptr) ::munmap(map_, mapped_);
}

Result<MutableData> WorkerProcess::memory(std::size_t size) {
    if (size > mapped_) {
        const auto wanted = std::bit_ceil(size);
        if (::ftruncate(memory_.get(), static_cast<off_t>(wanted)) != 0)
            return fail_errno(errno, "cannot enlarge shared memory");
        void* map = ::mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0);
        if (map == MAP_FAILED) return fail_errno(errno, "cannot map shared memory");
        if (map_ != nullptr) ::munmap(map_, mapped_);
        map_ = static_cast<std::byte*>(map);
        mapped_ = wanted;
    }
    return MutableData(map_, mapped_);
}

void WorkerProcess::send(ConstData bytes) {
    if (sent_ == outgoing_.size()) {
        outgoing_.clear();
        sent_ = 0;
    }
    outgoing_.insert(outgoing_.end(), bytes.begin(), bytes.end());
    static_cast<void>(flush());  // a process that has ended is noticed by receive(), which knows how it did
}

/// False: it takes nothing any more.
bool WorkerProcess::flush() {
    while (unsent() > 0) {
        const auto sent = ::send(socket_.get(), outgoing_.data() + sent_, unsent(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return errno == EAGAIN;
        sent_ += static_cast<std::size_t>(sent);
    }
    return true;
}

WorkerProcess::Read WorkerProcess::read_more() {
    const bool in_head = got_ < message_head;
    auto* const at = in_head ? head_bytes_ + got_ : body_.data() + (got_ - message_head);
    const auto wanted = in_head ? message_head - got_ : head_.size - (got_ - message_head);
    const auto got = ::recv(socket_.get(), at, wanted, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Read::nothing;
    if (got <= 0) return Read::ended;
    got_ += static_cast<std::size_t>(got);
    return Read::some;
}

WorkerProcess::Got WorkerProcess::receive(WorkerMessage& into, SteadyTime until, const std::stop_token& stop,
                                          int wake) {
    while (true) {
        const auto read = read_more();
        if (read == Read::ended) return Got::ended;
        if (read == Read::some) {
            if (got_ == message_head) {
                const auto head = read_message_head(head_bytes_, limits_);
                if (!head) {
                    nonsense_ = head.error().context;
                    return Got::nonsense;
                }
                head_ = *head;
                body_.resize(head_.size);
            }
            if (got_ < message_head || got_ - message_head < head_.size) continue;
            got_ = 0;
            into = {head_.kind, body_};
            return Got::message;
        }
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock_.now());
        if (left <= 0ms) return Got::too_late;
        if (stop.stop_requested()) return Got::stopped;
        const bool sends = unsent() > 0;
        pollfd waits[]{
            {.fd = socket_.get(), .events = static_cast<short>(sends ? POLLIN | POLLOUT : POLLIN), .revents = 0},
            {.fd = wake, .events = POLLIN, .revents = 0}};
        if (::poll(waits, 2, static_cast<int>(std::min(left, stop_check).count())) <= 0) continue;
        if ((waits[0].revents & POLLOUT) != 0) static_cast<void>(flush());
        if ((waits[0].revents & (POLLIN | POLLHUP | POLLERR)) == 0 && (waits[1].revents & POLLIN) != 0)
            return Got::woken;
    }
}

std::string WorkerProcess::how_it_ended(const std::stop_token& stop) {
    for (int attempt = 0; attempt < 2000; ++attempt) {  // its socket is closed a moment before it can be waited for
        siginfo_t info{};
        if (::waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid == process_) {
            const int status = info.si_status;
            if (info.si_code == CLD_EXITED) return fmt::format("its process ended with exit code {}", status);
            return fmt::format("its process was ended by signal {} ({})", status, ::strsignal(status));
        }
        if (!stoppable_sleep(1ms, stop)) break;
    }
    return "its process closed the connection";
}

}  // namespace weir::plugin
