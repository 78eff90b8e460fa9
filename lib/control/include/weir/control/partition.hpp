// SPDX-License-Identifier: Apache-2.0
// A partition: the stations of one experiment's data acquisition, as its file lists them. Here the file is looked at as
// a whole: which stations there are, whether together they can take data, whether two want one port. What each
// station's own keys mean is that station's business, and checked with its own table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.hpp"
#include "weir/wire/peer.hpp"

namespace weir::control {

struct StationEntry {
    StationKind kind = StationKind::readout;
    std::string name{};      // "ros-1"; one of the partition
    wire::StationId id{};    // its place in the file, from 1 on
    std::size_t line = 0;    // of its section
    std::string recorder{};  // of a hand-off: the station whose files it hands over
    std::string host{};      // the machine or group that it is named for; empty: none is named

    [[nodiscard]] std::string section() const;  // "readout.ros-1"
};

/// Who starts the agent of a machine on which none answers. `none`: somebody else has started it.
enum class EngineKind : std::uint8_t { none, ssh, slurm };
[[nodiscard]] std::string_view name(EngineKind kind) noexcept;
/// "ssh", "slurm".
[[nodiscard]] std::optional<EngineKind> parse_engine_kind(std::string_view text) noexcept;

/// How an engine starts the agent of a machine. Paths are those on that machine.
struct AgentStart {
    EngineKind engine = EngineKind::none;
    std::string machine{};               // as the engine calls it: a destination of ssh, a node of Slurm
    std::string program{};               // weir there
    std::string directory{};             // of the agent
    std::string certificates{};          // the directory of host.crt, host.key and ca.crt; empty: none are used
    std::string join{};                  // run control's port for joins, as it is reached from there; empty: none
    std::vector<std::string> command{};  // of ssh: the client, and its options
    std::vector<std::string> options{};  // of sbatch
    std::string job{};                   // of Slurm: its name
    std::string constraint{};            // of Slurm, for a machine of a group; empty: none
};

/// Which node a machine of a group has. What is not known is empty.
struct HostPlace {
    std::string job{};       // that was asked for, and is not known to have ended
    std::string node{};      // on which it runs; for a pinned machine also the last on which one ran
    std::string address{};   // of the agent's port: "10.77.0.13:7400"
    std::string instance{};  // of the agent that answered there

    bool operator==(const HostPlace&) const = default;
};

/// A machine, with an agent.
struct HostEntry {
    std::string name{};     // "h1"
    std::string address{};  // of the agent's port: "10.77.0.11:7400"; of a group ":7400" or "10.77.0.0/16:7400"
    std::vector<StationKind> kinds{};  // that are placed there when they name no host; empty: all
    std::size_t line = 0;
    AgentStart start{};

    std::string group{};          // of machines whose nodes their engine chooses: "worker" of "worker-2"; empty: none
    bool spare = false;           // no station begins there; those of a lost machine may go there
    bool pinned = false;          // it keeps the node that it had
    std::uint32_t group_min = 0;  // so many machines of the group are there before a station is started on one
    HostPlace place{};            // of a run control before, see recall_hosts()
    std::vector<HostPlace> former{};  // where agents of it may still be that are not wanted any more

    [[nodiscard]] bool in_group() const noexcept { return !group.empty(); }
};

struct Partition {
    std::filesystem::path file{};
    std::string name = "weir";
    std::vector<StationEntry> stations{};  // in the order of the file
    std::vector<HostEntry> hosts{};        // in the order of the file; empty: all stations are on run control's machine
    AgentStart ssh{}, slurm{};             // of [engine.ssh] and [engine.slurm]: what a machine does not say itself
    std::vector<SourceId> sources{};       // ROBs that are expected; empty: whatever the readouts serve

    [[nodiscard]] std::size_t count(StationKind kind) const noexcept;
    [[nodiscard]] const StationEntry* find(std::string_view name) const noexcept;
};

inline constexpr std::size_t stations_max = 4096;
inline constexpr std::size_t hosts_max = 1024;

/// Its disk or its hardware is where it is: it waits for its machine. Others go to another one.
[[nodiscard]] constexpr bool stays_on_its_host(StationKind kind) noexcept {
    return kind == StationKind::readout || kind == StationKind::record || kind == StationKind::handoff;
}

/// Letters, digits, - and _, 64 at most.
[[nodiscard]] bool is_station_name(std::string_view name) noexcept;

/// Errc::usage: one line that names the file, the line in it, and what to change.
[[nodiscard]] Result<Partition> parse_partition(std::string_view text, const std::filesystem::path& file);

/// The engine of the machines that name none. Errc::usage: one of them lacks what that engine needs.
[[nodiscard]] Result<> set_engine(Partition& partition, EngineKind engine);

/// What can be known only when the stations run, and their peers are known: every expected source is served, and by one
/// readout; no two stations are reached at one address.
[[nodiscard]] Result<> check_peers(const Partition& partition, const std::vector<Peer>& peers);

}  // namespace weir::control
