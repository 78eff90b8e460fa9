// SPDX-License-Identifier: Apache-2.0
#include "weir/control/host_launcher.hpp"

#include <algorithm>

#include "hosts/host_look.hpp"
#include "hosts/host_table.hpp"
#include "hosts/hosted_process.hpp"
#include "weir/control/host_engines.hpp"

namespace weir::control {

std::uint64_t HostLauncher::next_epoch(const Partition& partition, std::uint64_t at_least,
                                       service::ControlCalls& calls) {
    for (const auto& report : look_at_hosts(partition.hosts, calls))
        if (report && report->commander) at_least = std::max(at_least, report->commander->epoch + 1);
    return at_least;
}

void HostLauncher::look_for_left(std::chrono::milliseconds at_most, const std::function<bool()>& wait) {
    table_->look_for_left(at_most, wait);
}

std::unique_ptr<LaunchedProcess> HostLauncher::adopt(const LaunchRequest& request) {
    auto slot = table_->adopt(request);
    return slot ? std::make_unique<HostedProcess>(table_, std::move(slot)) : nullptr;
}

HostLauncher::HostLauncher(const Partition& partition, HostLauncherOptions options, service::ControlCalls& calls,
                           service::ControlCalls& events, Reporter report, const Clock& clock)
    : table_(std::make_shared<HostTable>(partition, std::move(options), calls, events, std::move(report), clock)) {}

HostLauncher::~HostLauncher() {
    auto* engines = table_->engines();
    if (engines != nullptr) engines->settle();
    table_->end();
    // Machines that do not answer may obey that one too, in jobs that it counts on.
    if (engines != nullptr && !table_->left() && !table_->superseded()) engines->end(table_->view());
}

void HostLauncher::leave() { table_->leave(); }

Result<std::unique_ptr<LaunchedProcess>> HostLauncher::launch(const LaunchRequest& request) {
    auto slot = WEIR_TRY(table_->launch(request));
    return std::make_unique<HostedProcess>(table_, std::move(slot));
}

std::unique_ptr<LogLines> HostLauncher::log_of(const LaunchRequest& request) {
    return std::make_unique<HostedLines>(table_, request.name);
}

std::shared_ptr<RunBooks> HostLauncher::books_of(const std::string& recorder, const std::string& directory,
                                                 const std::string& catalogue) const {
    return table_->books_of(recorder, directory, catalogue);
}

void HostLauncher::step() {
    table_->step();
    if (table_->engines() != nullptr) table_->engines()->step(table_->view());
}

std::unique_ptr<StationLink> HostLauncher::open(const std::string& address) {
    return std::make_unique<HostedLink>(table_, address);
}

std::optional<std::string> HostLauncher::superseded() const { return table_->superseded(); }

std::vector<HostView> HostLauncher::view() const { return table_->view(); }

}  // namespace weir::control
