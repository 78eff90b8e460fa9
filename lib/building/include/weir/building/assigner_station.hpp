// SPDX-License-Identifier: Apache-2.0
// The data flow manager as a station: its logic in a station loop.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "weir/building/assigner.hpp"
#include "weir/messaging/station_loop.hpp"
#include "weir/service/shared_status.hpp"
#include "weir/service/station.hpp"

namespace weir::building {

struct AssignerStationOptions {
    std::string name = "dfm";
    wire::StationId id{};
    AssignerOptions assigner{};
    messaging::MessageLoopOptions loop{};
    messaging::LinkKind link = messaging::LinkKind::udp;
};

class AssignerStation final : public service::Station {
public:
    /// Reports and clock outlive the station.
    AssignerStation(AssignerStationOptions options, service::Reports& reports, const Clock& clock);
    ~AssignerStation() override;

    [[nodiscard]] Result<> configure() override;
    [[nodiscard]] Peer self() const override;
    [[nodiscard]] Result<> connect(const std::vector<Peer>& peers) override;
    [[nodiscard]] Result<> start(RunNumber run) override;
    /// Waits until every event is final and every readout was told; gives up what is left at the deadline.
    [[nodiscard]] Result<> stop(std::chrono::milliseconds deadline) override;
    [[nodiscard]] Result<> disconnect() override;
    [[nodiscard]] Result<> unconfigure() override;
    [[nodiscard]] Result<> change_peers(const std::vector<Peer>& peers) override;
    [[nodiscard]] service::StationStatus status() const override;
    [[nodiscard]] service::StationEvents events() const override;

private:
    class Logic;
    const AssignerStationOptions options_;
    service::Reports& reports_;
    const Clock& clock_;
    service::SharedStatus status_;  // also before and after there is a logic
    std::unique_ptr<messaging::StationLoop> loop_;
    mutable std::mutex logic_mutex_;  // held while the logic comes or goes, and by who asks it from another thread
    std::unique_ptr<Logic> logic_;    // while connected
};

}  // namespace weir::building
