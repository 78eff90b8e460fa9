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
    auto hosts = partition.hosts;
    for (auto& host : hosts)
        if (host.in_group()) host.address = host.place.address;
    for (const auto& report : look_at_hosts(hosts, calls))
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
    : memory_(options.memory),
      report_(report),
      table_(std::make_shared<HostTable>(partition, std::move(options), calls, events, std::move(report), clock)) {}

HostLauncher::~HostLauncher() {
    auto* engines = table_->engines();
    if (engines != nullptr) engines->settle();
    table_->end();
    // Machines that do not answer may obey that one too, in jobs that it counts on.
    if (engines == nullptr || table_->left() || table_->superseded()) return;
    engines->end(table_->view());
    place_groups();
    keep();
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
    auto* engines = table_->engines();
    if (engines == nullptr) return;
    const auto hosts = table_->view();
    engines->step(hosts);
    place_groups();
    if (!table_->superseded()) keep();
}

void HostLauncher::place_groups() {
    const auto* engines = table_->engines();
    for (std::size_t i = 0; i < table_->size(); ++i)
        if (const auto* place = engines->place(i)) table_->place(i, *place);
}

/// A disk that is full costs the next run control its agents, and this one nothing.
void HostLauncher::keep() {
    if (auto places = table_->new_places()) not_kept_ = std::move(places);
    if (!not_kept_) return;
    const auto kept = memory_.keep(*not_kept_);
    if (kept) not_kept_.reset();
    if (!kept && !memory_fails_)
        report_({.severity = Severity::warning,
                 .what = "the nodes of machines are not kept",
                 .why = kept.error().message(),
                 .advice = "a run control that takes over will not find their agents"});
    memory_fails_ = !kept;
}

std::unique_ptr<StationLink> HostLauncher::open(const std::string& address) {
    return std::make_unique<HostedLink>(table_, address);
}

std::optional<std::string> HostLauncher::superseded() const { return table_->superseded(); }

std::vector<HostView> HostLauncher::view() const { return table_->view(); }

}  // namespace weir::control
