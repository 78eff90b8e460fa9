// SPDX-License-Identifier: Apache-2.0
// A level-2 processing unit as a station: a message loop that runs its logic (the input thread), and worker threads that
// run the selection. A worker sleeps until the data of an event are there, while others compute.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/named_thread.hpp"
#include "weir/selection/selection_unit.hpp"
#include "weir/selection/selector.hpp"
#include "weir/service/shared_status.hpp"
#include "weir/service/station.hpp"
#include "weir/transport/message_loop.hpp"

namespace weir::selection {

struct UnitStationOptions {
    std::string name = "l2pu-1";
    wire::StationId id{};
    UnitOptions unit{};
    SelectionSpec selection{};
    transport::MessageLoopOptions loop{};
    transport::LinkKind link = transport::LinkKind::udp;
    Bytes memory{256ULL << 20};  // of messages that come in several parts
};

class UnitStation final : public Station {
public:
    /// Reports and clock outlive the station.
    UnitStation(UnitStationOptions options, Reports& reports, const Clock& clock);
    ~UnitStation() override;

    [[nodiscard]] Result<> configure() override;
    [[nodiscard]] Peer self() const override;
    [[nodiscard]] Result<> connect(const std::vector<Peer>& peers) override;
    [[nodiscard]] Result<> start(RunNumber run) override;
    /// Waits until every event is decided and the supervisor has heard so; drops the rest at the deadline.
    [[nodiscard]] Result<> stop(std::chrono::milliseconds deadline) override;
    [[nodiscard]] Result<> disconnect() override;
    [[nodiscard]] Result<> unconfigure() override;
    [[nodiscard]] Result<> change_peers(const std::vector<Peer>& peers) override;
    [[nodiscard]] StationStatus status() const override;

private:
    class Logic;
    const UnitStationOptions options_;
    Reports& reports_;
    const Clock& clock_;
    std::optional<Selection> selection_;
    std::unique_ptr<memory::BufferPool> pool_;
    std::unique_ptr<transport::MessageLoop> loop_;
    SharedStatus status_;  // written by the loop's thread; outlives the logic, for those who ask meanwhile
    std::unique_ptr<Logic> logic_;
    std::optional<NamedThread> thread_;  // the last member: it uses all others
};

}  // namespace weir::selection
