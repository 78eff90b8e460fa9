// SPDX-License-Identifier: Apache-2.0
// A station that runs alone, without run control: `weir record` and `weir handoff` without a partition file. What
// stands in a partition file for other stations, options and a configuration file of their own have; the process
// itself makes the transitions that run control makes there.
#pragma once

#include <chrono>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stations/frame/station_command.hpp"
#include "weir/service/configuration.hpp"
#include "weir/service/log_output.hpp"
#include "weir/service/station_frame.hpp"

namespace weir::app {

/// Of a command whose station runs alone, or as one of a partition.
struct AloneOptions {
    std::string config;
    bool print_config = false;
    bool json = false;
    service::LogFormat log_format = service::LogFormat::text;
    std::vector<CLI::Option*> given{};  // those that go before the file
    StationOptions station{};           // of a partition, when its file is named

    [[nodiscard]] bool in_partition() const noexcept { return !station.partition.empty(); }
};

/// --config, --print-config, --json, and for one station of a partition PARTITION, --name, --id, --control, --trace,
/// --address.
void declare_alone(CLI::App& command, StationKind kind, AloneOptions& options);

/// Reads the configuration file, if there is one, under the options that were given.
[[nodiscard]] Result<> read_config(service::Settings& table, const AloneOptions& options);

/// run_station(), of which only the options that are named in `beside` go together with a partition file.
[[nodiscard]] int run_in_partition(std::string_view command_name, StationKind kind, const AloneOptions& options,
                                   std::initializer_list<std::string_view> beside, StationSettings& settings);

// For transitions that take as long as disks and servers take.
inline constexpr std::chrono::milliseconds as_long_as_it_takes = std::chrono::hours(24);

/// Where such a station answers questions, those of Prometheus and of browsers among them.
struct AlonePort {
    std::string listen;         // empty: nowhere
    transport::TlsFiles tls{};  // on addresses that other machines reach; askers show a certificate with a role
    bool plain = false;         // true: without TLS there too
    std::vector<service::HttpRoute> routes{};  // further ones: those of a control::LonePage
};

/// "http://127.0.0.1:41234", of a control address; empty: it has none. `tls`: the port has certificates, for addresses
/// that other machines reach.
[[nodiscard]] std::string page_address(const std::string& control, bool tls);

/// The station in a frame, up to a run that has begun. Only this process drives it.
[[nodiscard]] Result<std::unique_ptr<service::StationFrame>> start_alone(service::Station& station,
                                                                         const std::string& name, StationKind kind,
                                                                         const AlonePort& port,
                                                                         const service::StationServices& services);

}  // namespace weir::app
