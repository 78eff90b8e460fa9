// SPDX-License-Identifier: Apache-2.0
// The station `weir monitor`: gives a monitor some of the events that pass through builders or filters, keeps what it
// fills, shows it (GET /histograms), and saves it at the end of a run. No other station waits for it, and no event is
// held back for it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/event/format.hpp"
#include "weir/monitor/monitor_spec.hpp"
#include "weir/service/control_client.hpp"
#include "weir/service/station.hpp"
#include "weir/service/station_services.hpp"
#include "weir/wire/peer.hpp"

namespace weir::monitor {

struct MonitorStationOptions {
    std::string name{};
    wire::StationId id{};
    MonitorSpec monitor{};
    event::Format format = event::Format::event_5_0;
    std::vector<std::string> stations{};  // whose events; none: of all filters, or of all builders where there are none
    std::string stream{};                 // only events of it; empty: any
    double rate = 100;                    // events a second at most; 0: as many as come
    std::filesystem::path directory{};    // where histograms are saved
    std::filesystem::path reference{};    // saved ones that are shown beside those of a run; empty: none
    std::optional<service::ControlTls> tls{};
};

class MonitorStation final : public service::Station {
public:
    /// The services outlive it.
    MonitorStation(MonitorStationOptions options, const service::StationServices& services);
    ~MonitorStation() override;

    [[nodiscard]] Result<> configure() override;
    [[nodiscard]] Peer self() const override;
    [[nodiscard]] Result<> connect(const std::vector<Peer>& peers) override;
    [[nodiscard]] Result<> start(RunNumber run) override;
    [[nodiscard]] Result<> stop(std::chrono::milliseconds deadline) override;
    [[nodiscard]] Result<> disconnect() override;
    [[nodiscard]] Result<> unconfigure() override;
    [[nodiscard]] Result<> change_peers(const std::vector<Peer>& peers) override;
    [[nodiscard]] service::StationStatus status() const override;
    /// GET /histograms: all without their bins; with ?name=NAME one with them, and its reference.
    [[nodiscard]] std::vector<service::HttpRoute> routes() override;

private:
    class Logic;
    const Peer self_;
    std::unique_ptr<Logic> logic_;
};

}  // namespace weir::monitor
