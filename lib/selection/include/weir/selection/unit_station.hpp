// SPDX-License-Identifier: Apache-2.0
// A level-2 processing unit as a station: its logic in a station loop (the input thread), and worker threads that
// run the selection. A worker sleeps until the data of an event are there, while others compute.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/messaging/station_loop.hpp"
#include "weir/selection/selection_unit.hpp"
#include "weir/selection/selector.hpp"
#include "weir/service/shared_status.hpp"
#include "weir/service/station.hpp"

namespace weir::selection {

struct UnitStationOptions {
    std::string name = "l2pu-1";
    wire::StationId id{};
    UnitOptions unit{};
    SelectionSpec selection{};
    messaging::MessageLoopOptions loop{};
    messaging::LinkKind link = messaging::LinkKind::udp;
    Bytes memory{256ULL << 20};  // of messages that come in several parts
};

class UnitStation final : public service::Station {
public:
    /// Reports and clock outlive the station.
    UnitStation(UnitStationOptions options, service::Reports& reports, const Clock& clock);
    ~UnitStation() override;

    [[nodiscard]] Result<> configure() override;
    [[nodiscard]] Peer self() const override;
    [[nodiscard]] Result<> connect(const std::vector<Peer>& peers) override;
    [[nodiscard]] Result<> start(RunNumber run) override;
    /// A library of threads runs in processes then: it may be what ended the process before.
    [[nodiscard]] Result<> start_again(RunNumber run) override;
    /// Waits until every event is decided and the supervisor has heard so; drops the rest at the deadline.
    [[nodiscard]] Result<> stop(std::chrono::milliseconds deadline) override;
    [[nodiscard]] Result<> disconnect() override;
    [[nodiscard]] Result<> unconfigure() override;
    [[nodiscard]] Result<> change_peers(const std::vector<Peer>& peers) override;
    [[nodiscard]] service::StationStatus status() const override;

private:
    class Logic;
    const UnitStationOptions options_;
    service::Reports& reports_;
    const Clock& clock_;
    std::optional<Selection> selection_;
    service::SharedStatus status_;  // also before and after there is a logic
    std::unique_ptr<messaging::StationLoop> loop_;
    std::unique_ptr<Logic> logic_;  // while connected
};

}  // namespace weir::selection
