// SPDX-License-Identifier: Apache-2.0
// One process that runs a plug-in: started, sent messages (worker_message.hpp) and, where wanted, given shared memory;
// its answer is waited for up to a limit, and without one it is killed. It may damage its own memory only.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/data.hpp"
#include "weir/base/descriptor.hpp"
#include "weir/base/result.hpp"
#include "weir/plugin/worker_message.hpp"

namespace weir::plugin {

/// Valid until the next receive().
struct WorkerMessage {
    std::uint32_t kind = 0;
    ConstData body{};
};

class WorkerProcess {
public:
    /// Starts `command`. The process ends with the calling thread, at the latest. The clock outlives it.
    [[nodiscard]] static Result<std::unique_ptr<WorkerProcess>> start(const std::vector<std::string>& command,
                                                                      const MessageLimits& limits, const Clock& clock);
    ~WorkerProcess();  // kills it
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;

    /// Shared memory of `size` bytes at least, which the process maps too. Valid until a call with a larger size.
    [[nodiscard]] Result<MutableData> memory(std::size_t size);

    /// Goes out during this call and the following calls of receive(): it never waits, so both ends may send at once.
    void send(ConstData bytes);
    /// Bytes of send() that the process has not taken yet.
    [[nodiscard]] std::size_t unsent() const noexcept { return outgoing_.size() - sent_; }

    enum class Got {
        message,
        too_late,
        stopped,
        woken,     // `wake` is readable
        ended,     // how_it_ended()
        nonsense,  // it is of no more use; why_nonsense()
    };
    /// After too_late, stopped or woken the rest of a begun message comes with the next call. `wake`: a descriptor that
    /// ends the wait when it is readable; -1: none.
    [[nodiscard]] Got receive(WorkerMessage& into, SteadyTime until, const std::stop_token& stop, int wake = -1);

    /// One line: exit code or signal. Waits a moment for it, unless it is stopped.
    [[nodiscard]] std::string how_it_ended(const std::stop_token& stop);
    [[nodiscard]] const std::string& why_nonsense() const noexcept { return nonsense_; }

private:
    WorkerProcess(Descriptor socket, Descriptor memory, pid_t process, const MessageLimits& limits, const Clock& clock)
        : socket_(std::move(socket)), memory_(std::move(memory)), process_(process), limits_(limits), clock_(clock) {}
    [[nodiscard]] bool flush();
    enum class Read { some, nothing, ended };
    [[nodiscard]] Read read_more();

    Descriptor socket_, memory_;
    const pid_t process_;
    const MessageLimits limits_;
    const Clock& clock_;
    std::byte* map_ = nullptr;
    std::size_t mapped_ = 0;
    std::vector<std::byte> outgoing_;
    std::size_t sent_ = 0;
    std::byte head_bytes_[message_head]{};
    MessageHead head_{};
    std::size_t got_ = 0;  // of head and body
    std::vector<std::byte> body_;
    std::string nonsense_;
};

}  // namespace weir::plugin
