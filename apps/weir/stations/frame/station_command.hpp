// SPDX-License-Identifier: Apache-2.0
// Everything that the commands of stations share (`weir readout`, assign, build, supervise, select, filter, and record
// in a partition): options, the partition file, reports, metrics, control port, frame, signals, exit codes. A command
// declares its settings and makes its Station; the rest is here:
//
//     class ReadoutSettings final : public StationSettings { ... };
//     void add_readout(CLI::App& parent, Command& chosen) {
//         add_station_command(parent, chosen, StationKind::readout, "serves fragments", [] { return
//         std::make_unique<ReadoutSettings>(); });
//     }
//
// and one line in station_kinds.cpp, so that `weir config` knows the keys.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "stations/frame/partition_settings.hpp"
#include "weir/service/station.hpp"
#include "weir/service/station_services.hpp"

namespace weir::app {

/// What a station is given: the partition's file and the command line, read and checked.
struct StationPlace {
    PartitionSettings partition;
    StationKind kind = StationKind::readout;
    std::string name;
    wire::StationId id{};
    std::vector<std::filesystem::path> sources{};  // --source
    std::vector<std::string> directories{};        // --dir; else [partition] directory, when there is one
    bool create = false;                           // --create: directories that were never recorded into
    std::optional<std::uint64_t> events{};         // --events
    std::string address{};                         // of this machine, for the data; empty: 127.0.0.1
    bool elsewhere = false;                        // on another machine: its files are not looked for here

    /// Where a port for other stations is, by its key: empty is any free one at `address`. Errc::usage: other machines
    /// would reach it without certificates.
    [[nodiscard]] Result<transport::HostPort> listen(const std::string& key) const;
};

/// Who replays raw files: readouts their fragments, supervisors the order of their events.
[[nodiscard]] constexpr bool takes_sources(StationKind kind) noexcept {
    return kind == StationKind::readout || kind == StationKind::supervise;
}
/// Who counts the events of a run.
[[nodiscard]] constexpr bool takes_events(StationKind kind) noexcept { return kind == StationKind::supervise; }

/// The keys of one kind of station, and how one is made of them.
class StationSettings {
public:
    virtual ~StationSettings() = default;
    /// Declares every key in `section` ("readout.ros-1"), also those that all kinds have in a partition. The table
    /// refers to this object.
    void declare_all(service::Settings& settings, const std::string& section);
    /// Those of this kind.
    virtual void declare(service::Settings& settings, const std::string& section) = 0;
    /// Options of the command line that are this kind's own; they go before the file. May add none.
    virtual void declare_options(CLI::App& command, std::vector<CLI::Option*>& given) {
        static_cast<void>(command);
        static_cast<void>(given);
    }
    /// Whether the values go together, and with the partition's. Errc::usage names the key. Opens nothing.
    [[nodiscard]] virtual Result<> check(const StationPlace& place) const = 0;
    /// Called once, after check(). The services outlive the station.
    [[nodiscard]] virtual Result<std::unique_ptr<service::Station>> make(const StationPlace& place,
                                                                         const service::StationServices& services) = 0;

private:
    std::string host_;  // run control's to use
};

struct StationOptions {
    std::filesystem::path partition;
    std::string name;
    std::uint16_t id = 0;  // 0: its place in the file
    std::string control = "127.0.0.1:0";
    std::string address;        // empty: that in [network] data
    transport::TlsFiles tls{};  // instead of those in [security]
    std::vector<std::filesystem::path> sources;
    bool elsewhere = false;  // run control looks at a station of another machine
    std::vector<std::string> directories;
    bool create = false;
    std::optional<std::uint64_t> events;
    std::filesystem::path trace;
    bool json = false;
    std::vector<CLI::Option*> given{};  // of the kind's own; applied again after the file
};

/// Reads the partition file for one station: its own section into `settings`, the shared ones into the place. Error:
/// usage with file and line; refused: the file has no such station. `text` is the file's.
[[nodiscard]] Result<StationPlace> read_station(std::string_view text, std::string_view file_name,
                                                const ListedStation& station, StationSettings& settings,
                                                const StationOptions& options);
/// The same, found by kind and name, with this machine's address in [network] data unless one is given.
[[nodiscard]] Result<StationPlace> read_station(StationKind kind, const StationOptions& options,
                                                StationSettings& settings);

/// --address, and --tls-certificate, --tls-key, --tls-ca, for this process instead of what stands in the file.
void declare_address_option(CLI::App& command, StationOptions& options);
void declare_tls_options(CLI::App& command, StationOptions& options);

/// The options that every station takes.
void declare_station_options(CLI::App& command, StationKind kind, StationOptions& options);

/// A whole process: until SIGTERM, SIGINT or `exit` over the control port. Exit code: 0 when the way down went well.
[[nodiscard]] int run_station(std::string_view command_name, StationKind kind, const StationOptions& options,
                              StationSettings& settings);

/// Declares the command `weir KIND`.
void add_station_command(CLI::App& parent, Command& chosen, StationKind kind, const std::string& description,
                         const std::function<std::unique_ptr<StationSettings>()>& make_settings);

}  // namespace weir::app
