// SPDX-License-Identifier: Apache-2.0
// What the operation page asks of run control beside the commands: the live document, how rates went, who is in
// control, runs and files. docs/formats/run-control-protocol.md.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/control/operator_lease.hpp"
#include "weir/control/run_archive.hpp"
#include "weir/control/run_service.hpp"
#include "weir/service/http_server.hpp"
#include "weir/service/timers.hpp"

namespace weir::control {

struct RunPageOptions {
    RunArchivePlace archive{};
    std::vector<std::string> further{};  // file names of further pages
    std::string zone{};     // of the laboratory, in which times are shown, "Europe/Zurich"; empty: the browser's
    std::string contact{};  // whom to call; empty: nobody is named
};

/// Looks at the partition once a second, by the timers, and reads runs and files on a thread of its own.
class RunPage {
public:
    /// All that is passed by reference outlives it.
    RunPage(const RunServiceParts& parts, OperatorLease& lease, RunPageOptions options, service::Timers& timers,
            const Clock& clock);
    ~RunPage();
    RunPage(const RunPage&) = delete;
    RunPage& operator=(const RunPage&) = delete;

    /// GET / /page/* /live /history /runs /runs/* /files, POST /control. It outlives the server.
    [[nodiscard]] std::vector<service::HttpRoute> routes();

    /// What the timers do, each second.
    void tick();

private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace weir::control
