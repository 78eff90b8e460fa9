// SPDX-License-Identifier: Apache-2.0
// One process that runs a plug-in: started, given one event at a time through shared memory, listened to for a limited
// time, killed when it does not answer. It may damage its own memory only.
#pragma once

#include <sys/types.h>

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/result.hpp"
#include "workers/worker_messages.hpp"

namespace weir::selection {

class WorkerProcess {
public:
    /// Starts `command` and waits until it has loaded its plug-in. The process ends with the calling thread, at the
    /// latest.
    [[nodiscard]] static Result<std::unique_ptr<WorkerProcess>> start(const std::vector<std::string>& command,
                                                                      SteadyTime until, const std::stop_token& stop);
    ~WorkerProcess();  // kills it
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;

    struct Answer {
        enum class Kind { decision, failed, too_late, stopped, ended, nonsense } kind = Kind::ended;
        Decision decision{};
        std::string text{};
    };
    /// After anything but a decision and `failed` the process is of no more use.
    [[nodiscard]] Answer ask(const Event& event, SteadyTime until, const std::stop_token& stop);

private:
    WorkerProcess(int socket, int memory, pid_t process) : socket_(socket), memory_(memory), process_(process) {}
    [[nodiscard]] Result<> make_room(std::size_t size);
    [[nodiscard]] Answer listen(SteadyTime until, const std::stop_token& stop);
    enum class Got { all, too_late, stopped, ended };
    [[nodiscard]] Got receive(MutableData to, SteadyTime until, const std::stop_token& stop);
    [[nodiscard]] std::string how_it_ended();

    int socket_ = -1;
    int memory_ = -1;
    pid_t process_ = -1;
    std::byte* map_ = nullptr;
    std::size_t mapped_ = 0;
    std::vector<std::byte> body_;
};

}  // namespace weir::selection
