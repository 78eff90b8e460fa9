// SPDX-License-Identifier: Apache-2.0
#include "run/session/station_reach.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <utility>

#include "host/own_tls.hpp"
#include "weir/base/file.hpp"
#include "weir/control/host_memory.hpp"
#include "weir/control/http_links.hpp"
#include "weir/control/local_launcher.hpp"
#include "weir/service/join_token.hpp"
#include "weir/service/join_tokens.hpp"

namespace weir::app {
namespace {

/// Above that of every run control of the directory, and of the machines, whatever the clock says.
std::uint64_t next_epoch(const control::Partition& partition, const RunDirectory& directory,
                         service::ControlCalls& calls, const Clock& clock) {
    const auto path = directory.path() / "run-epoch";
    std::uint64_t last = 0;
    if (const auto text = read_text(path, 1_KiB)) std::from_chars(text->data(), text->data() + text->size(), last);
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(clock.wall().time_since_epoch()).count();
    const auto epoch = control::HostLauncher::next_epoch(
        partition, std::max(static_cast<std::uint64_t>(std::max<std::int64_t>(now, 0)), last + 1), calls);
    std::ofstream(path) << epoch << '\n';
    return epoch;
}

/// Only machines that join ask for one; see check_joins().
control::HostEngines::MakeToken tokens_of(const std::optional<OwnAuthority>& own, const Clock& clock) {
    if (!own) return {};
    return [&own, &clock](const std::string& host) -> Result<std::string> {
        const auto token = WEIR_TRY(service::make_join_token(own->authority().certificate().fingerprint()));
        WEIR_TRY(service::JoinTokens(own->tokens_file(), clock).add(token, host));
        return token.text();
    };
}

}  // namespace

StationReach stations_here(service::ControlCalls& calls, service::ControlCalls& events) {
    auto links = std::make_unique<control::HttpLinks>(calls, events);
    auto* all = links.get();
    return {std::move(links), nullptr, std::make_unique<control::LocalLauncher>(), all, {}, {}, {}, {}, {}};
}

Result<> check_joins(const control::Partition& partition, const RunOptions& options, const PartitionSettings& shared) {
    for (const auto& host : partition.hosts) {
        if (host.start.join.empty() || host.start.engine == control::EngineKind::none) continue;
        if (!shared.security.own_authority || options.join.empty())
            return fail(Errc::usage,
                        fmt::format("{}:{}: [hosts.{}] joins at {}: that needs own_authority = true and join in "
                                    "[security]",
                                    partition.file.native(), host.line, host.name, host.start.join));
        if (const auto good = service::check_host_name(host.name); !good) return good;
    }
    return {};
}

StationReach stations_on_hosts(const control::Partition& partition, const RunOptions& options,
                               const RunDirectory& directory, const std::optional<OwnAuthority>& own,
                               service::ControlCalls& calls, service::ControlCalls& events, const Reporter& report,
                               const Clock& clock) {
    auto engines = std::make_unique<control::HostEngines>(partition, tokens_of(own, clock), report, clock);
    const bool has_engine = std::ranges::any_of(
        partition.hosts, [](const control::HostEntry& host) { return host.start.engine != control::EngineKind::none; });
    const control::HostLauncherOptions of_hosts{
        .name = fmt::format("{} ({}, pid {})", partition.name, system_name(), ::getpid()),
        .epoch = next_epoch(partition, directory, calls, clock),
        .partition_file = directory.partition_file(),
        .take_over = options.take_over,
        .memory = control::HostMemory::file_in(directory.path()),
        .engines = has_engine ? engines.get() : nullptr,  // who has none is not asked for each step
    };
    auto launcher = std::make_unique<control::HostLauncher>(partition, of_hosts, calls, events, report, clock);
    auto* all = launcher.get();
    return {nullptr,
            std::move(engines),
            std::move(launcher),
            all,
            [all](const auto&... of_recorder) { return all->books_of(of_recorder...); },
            [all] { return all->view(); },
            [all] { return all->superseded(); },
            [all](auto at_most, const auto& wait) { all->look_for_left(at_most, wait); },
            [all] { all->leave(); }};
}

}  // namespace weir::app
