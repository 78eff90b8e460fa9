// SPDX-License-Identifier: Apache-2.0
// How run control launches stations, and how it reaches them: on this machine, or through agents on others.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "run/authority/own_authority.hpp"
#include "run/directory/run_directory.hpp"
#include "run/session/run_options.hpp"
#include "stations/frame/partition_settings.hpp"
#include "weir/control/host_engines.hpp"
#include "weir/control/host_launcher.hpp"
#include "weir/control/launcher.hpp"
#include "weir/control/station_link.hpp"
#include "weir/service/control_calls.hpp"

namespace weir::app {

/// The launcher is last: what it ends is still reached.
struct StationReach {
    std::unique_ptr<control::StationLinks> own_links{};
    std::unique_ptr<control::HostEngines> engines{};
    std::unique_ptr<control::Launcher> launcher{};
    control::StationLinks* links = nullptr;
    RunDirectory::BooksOf books_elsewhere{};
    std::function<std::vector<control::HostView>()> hosts{};
    std::function<std::optional<std::string>()> superseded{};
    std::function<void(std::chrono::milliseconds, const std::function<bool()>&)> look_for_left{};
    std::function<void()> leave{};
};

[[nodiscard]] StationReach stations_here(service::ControlCalls& calls, service::ControlCalls& events);

/// Epoch, agents and engines of the machines of the partition. All that it is given outlives it.
[[nodiscard]] StationReach stations_on_hosts(const control::Partition& partition, const RunOptions& options,
                                             const RunDirectory& directory, const std::optional<OwnAuthority>& own,
                                             service::ControlCalls& calls, service::ControlCalls& events,
                                             const Reporter& report, const Clock& clock);

/// Machines that join need an authority and a port for it.
[[nodiscard]] Result<> check_joins(const control::Partition& partition, const RunOptions& options,
                                   const PartitionSettings& shared);

}  // namespace weir::app
