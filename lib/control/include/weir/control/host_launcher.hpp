// SPDX-License-Identifier: Apache-2.0
// Stations on many machines: launched, watched and ended by the agents there (HostAgent). It polls each agent, one
// request for all of its stations, and finds out which machines are lost: what ran there has ended then, as far as run
// control is concerned, and an agent that comes back ends what is not wanted any more.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/report.hpp"
#include "weir/control/host_memory.hpp"
#include "weir/control/launcher.hpp"
#include "weir/control/partition.hpp"
#include "weir/control/run_books.hpp"
#include "weir/control/station_link.hpp"
#include "weir/service/control_calls.hpp"

namespace weir::control {

class HostEngines;
class HostTable;

struct HostLauncherOptions {
    std::string name;         // of this run control, for who reads that it commands: "ctl:/data/run7 (pid 4711)"
    std::uint64_t epoch = 1;  // above those of all run controls before, see next_epoch()
    std::filesystem::path partition_file;  // whose text goes to the agents with each launch
    bool take_over = false;                // also machines that another run control still commands
    std::chrono::milliseconds poll{200};
    std::chrono::milliseconds suspected_after{3'000};  // without an answer
    std::chrono::milliseconds lost_after{5'000};
    std::chrono::milliseconds brought_within{60'000};  // for a machine that an engine brings, at first
    std::filesystem::path memory{};  // where the nodes of groups are kept, see HostMemory; empty: nowhere
    HostEngines* engines = nullptr;  // outlives the launcher; none: all agents run already
    std::chrono::milliseconds end_deadline{2'000};  // for the agents to hear, at the end, that nothing is wanted
};

struct HostView {
    std::string name{}, address{};  // the address of one of a group is empty until its node is known
    std::string state{};            // "up", "suspected", "lost", "unknown" (not heard of yet)
    std::string trouble{};          // why it does not answer, or refuses
    std::string weir{};             // its version
    double silent = 0;              // seconds
    std::size_t stations = 0;
    bool asked = false;    // at least once, if it can be
    bool answers = false;  // at the last poll, be it to refuse
    bool ends = false;     // it knows that run control has ended
    std::string node{};    // of a machine of a group: which one it has, or had
};

/// One thread, but for view(). The partition and the calls outlive it, and so do what it reports to and the clock.
class HostLauncher final : public Launcher, public StationLinks {
public:
    /// `events`: as of HttpLinks.
    HostLauncher(const Partition& partition, HostLauncherOptions options, service::ControlCalls& calls,
                 service::ControlCalls& events, Reporter report, const Clock& clock);
    /// Tells the agents that nothing is wanted any more, and waits until they know; unless leave() was called.
    ~HostLauncher() override;
    /// Another run control has come, perhaps before all machines know: from here on no machine hears anything of this
    /// one, and what runs there stays as it is.
    void leave();
    /// An epoch for a run control that begins: `at_least`, and above what those machines know that answer within two
    /// seconds. Waits for them.
    [[nodiscard]] static std::uint64_t next_epoch(const Partition& partition, std::uint64_t at_least,
                                                  service::ControlCalls& calls);
    HostLauncher(const HostLauncher&) = delete;
    HostLauncher& operator=(const HostLauncher&) = delete;

    /// On the machine of the station, or, if that one is lost and the station may move, on the one with the fewest
    /// stations. It waits for its machine as long as that is not there.
    [[nodiscard]] Result<std::unique_ptr<LaunchedProcess>> launch(const LaunchRequest& request) override;
    /// What the machines run of the partition's stations, for adopt(). Asks until all have answered; those that have
    /// not after `lost_after` are lost, and `at_most` is for the first of them to answer. `wait` a little between two
    /// tries; false ends it. Before the first step: it ends what nobody has adopted by then.
    void look_for_left(std::chrono::milliseconds at_most, const std::function<bool()>& wait);
    [[nodiscard]] std::unique_ptr<LaunchedProcess> adopt(const LaunchRequest& request) override;
    [[nodiscard]] std::unique_ptr<LogLines> log_of(const LaunchRequest& request) override;
    void step() override;  // of the engines, too
    /// `address`: as launched processes announce it, "10.77.0.11:7400/stations/ros-1".
    [[nodiscard]] std::unique_ptr<StationLink> open(const std::string& address) override;

    /// Of the recorder, on the machine where it is; `directory` and `catalogue` as LocalBooks there takes them. They
    /// may outlive this, but not the calls.
    [[nodiscard]] std::shared_ptr<RunBooks> books_of(const std::string& recorder, const std::string& directory,
                                                     const std::string& catalogue) const;

    // Any thread:
    [[nodiscard]] std::vector<HostView> view() const;
    /// A machine obeys another run control, and says which; nothing: none does.
    [[nodiscard]] std::optional<std::string> superseded() const;

private:
    void place_groups();  // where their engine has put them
    void keep();
    HostMemory memory_;
    const Reporter report_;
    std::optional<std::vector<HostEntry>> not_kept_;
    bool memory_fails_ = false;
    const std::shared_ptr<HostTable> table_;  // answers that are under way may be the last who know it
};

}  // namespace weir::control
