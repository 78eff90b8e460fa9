// SPDX-License-Identifier: Apache-2.0
// The engines of a partition: where no agent answers on a machine, its engine (ssh, Slurm) is asked to start one, again
// and again with growing pauses until one answers. Only the agent itself says that it is there: what an engine reports
// is shown, and not believed. Nothing here waits for an engine: its commands are child processes that are looked at.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/report.hpp"
#include "weir/base/result.hpp"
#include "weir/control/host_launcher.hpp"
#include "weir/control/partition.hpp"

namespace weir::control {

/// One thread, but for has_begun(), which the destructor of a launcher calls too.
class HostEngines {
public:
    /// A fresh join token for a host, as text.
    using MakeToken = std::function<Result<std::string>(const std::string& host)>;
    /// The partition, what is called and the clock outlive it. `make_token`: for machines that join; may be empty when
    /// none does.
    HostEngines(const Partition& partition, MakeToken make_token, Reporter report, const Clock& clock);
    ~HostEngines();  // kills commands that still run; agents live on
    HostEngines(const HostEngines&) = delete;
    HostEngines& operator=(const HostEngines&) = delete;

    /// What is due. `hosts`: how they are, in the order of the partition. Often; returns at once.
    void step(const std::vector<HostView>& hosts);
    /// The engine of the machine was asked at least once.
    [[nodiscard]] bool has_begun(std::size_t host) const noexcept;
    /// Where a machine of a group is, as far as is known; nullptr: it is none of a group.
    [[nodiscard]] const HostPlace* place(std::size_t host) const noexcept;
    /// No attempt begins any more; those under way are waited for, for 5 s at most: what they start is known then.
    void settle();
    /// Run control has ended, and the agents that answered know it. Takes back what was asked for the others, where the
    /// engine can (jobs of Slurm); waits 5 s at most.
    void end(const std::vector<HostView>& hosts);

private:
    struct Machine;
    void bring(Machine& machine, SteadyTime now);
    [[nodiscard]] std::vector<std::string> nodes_of_others(const Machine& machine) const;
    const MakeToken make_token_;
    const Reporter report_;
    const Clock& clock_;
    std::vector<std::unique_ptr<Machine>> machines_;  // nullptr: it has no engine
    std::size_t first_ = 0;
};

}  // namespace weir::control
