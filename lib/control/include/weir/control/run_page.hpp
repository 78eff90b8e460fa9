// SPDX-License-Identifier: Apache-2.0
// What the operation page asks for beside the commands: the live document, how rates went, who is in control, runs,
// files and events. docs/formats/run-control-protocol.md.
#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/data.hpp"
#include "weir/control/operator_lease.hpp"
#include "weir/control/run_archive.hpp"
#include "weir/control/run_service.hpp"
#include "weir/service/control_client.hpp"
#include "weir/service/http_server.hpp"
#include "weir/service/timers.hpp"

namespace weir::control {

/// An event as a document, whatever its bytes are. On a thread of the page; may take milliseconds.
using DescribeEvent = std::function<boost::json::object(ConstData event)>;

/// What the page shows: of run control, or of a station that runs alone. All that it refers to outlives it.
struct RunPageParts {
    const Partition& partition;
    std::function<PartitionView()> view;  // any thread
    LogBook& log;
    service::Reports& reports;
    std::function<std::vector<HostView>()> hosts{};  // none: all stations are on this machine
    OperatorLease* lease = nullptr;                  // none: a station alone, which takes no commands
};

struct RunPageOptions {
    RunArchivePlace archive{};
    bool recorders_elsewhere = false;    // on other machines, as their catalogues: they are asked for their files
    std::vector<std::string> further{};  // file names of further pages
    std::optional<service::HttpRoute>
        further_route{};    // to them; called on a thread of its own: it may wait for a disk
    std::string zone{};     // of the laboratory, in which times are shown, "Europe/Zurich"; empty: the browser's
    std::string contact{};  // whom to call; empty: nobody is named
    DescribeEvent describe_event{};            // none: no events are shown
    std::optional<service::ControlTls> tls{};  // with which stations are asked for events and histograms
};

/// Looks at the partition once a second, by the timers, and reads runs and files on threads of its own.
class RunPage {
public:
    /// All that is passed by reference outlives it.
    RunPage(RunPageParts parts, RunPageOptions options, service::Timers& timers, const Clock& clock);
    ~RunPage();
    RunPage(const RunPage&) = delete;
    RunPage& operator=(const RunPage&) = delete;

    /// GET / /page/* /live /history /files /event /event/*; of run control /runs /runs/* and POST /control, of a
    /// station alone /log. It outlives the server.
    [[nodiscard]] std::vector<service::HttpRoute> routes();

    /// What the timers do, each second.
    void tick();

private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace weir::control
