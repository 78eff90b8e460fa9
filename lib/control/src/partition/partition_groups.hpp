// SPDX-License-Identifier: Apache-2.0
// Groups of machines in a partition file: [hosts.NAME] with `count` stands for NAME-1, NAME-2, ... whose nodes Slurm
// chooses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weir/control/partition.hpp"
#include "weir/service/configuration.hpp"

namespace weir::control {

/// The keys of a section that make it a group.
class HostGroup {
public:
    void declare(service::Settings& settings, const std::string& section);
    /// One of them was given.
    [[nodiscard]] bool any() const noexcept;
    /// Whether the section can be one of a group, and makes it one. Errc::usage: one line with file and line.
    [[nodiscard]] Result<> check(const Partition& partition, HostEntry& host) const;
    /// The machines that the section stands for: itself, if it is no group; else as many as it has, the spare ones
    /// last. `host` is complete.
    [[nodiscard]] std::vector<HostEntry> machines_of(HostEntry host, const Partition& partition) const;

private:
    std::uint32_t count_ = 0, spare_ = 0, min_ = 0;
    std::string constraint_{};
    bool pinned_ = false;
};

/// A station whose disk or hardware is on its machine needs one that keeps its node. `line`: where it names its host.
[[nodiscard]] Result<> check_stays(const Partition& partition, const StationEntry& station, std::size_t line);
/// As above, for stations that name none: there is a machine for each of them.
[[nodiscard]] Result<> check_places(const Partition& partition);

}  // namespace weir::control
