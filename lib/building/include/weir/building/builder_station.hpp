// SPDX-License-Identifier: Apache-2.0
// The builder as a station: its logic in a station loop, and an output to filters or recorders.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/building/builder.hpp"
#include "weir/building/delivery_output.hpp"
#include "weir/messaging/station_loop.hpp"
#include "weir/service/sampled_events.hpp"
#include "weir/service/shared_status.hpp"
#include "weir/service/station.hpp"

namespace weir::building {

struct BuilderStationOptions {
    std::string name = "sfi-1";
    wire::StationId id{};
    BuilderOptions builder{};
    messaging::MessageLoopOptions loop{};
    messaging::LinkKind link = messaging::LinkKind::udp;  // to readouts; the DFM's is the same
    DeliveryOutputOptions output{};
    Bytes memory{512ULL << 20};  // of events in hand
    bool probe = true;           // at connect: do datagrams of that size reach every peer?
    std::chrono::milliseconds probe_deadline{3000};
};

class BuilderStation final : public service::Station {
public:
    /// Reports (reports of the builder) and clock outlive the station.
    BuilderStation(BuilderStationOptions options, service::Reports& reports, const Clock& clock);
    ~BuilderStation() override;

    [[nodiscard]] Result<> configure() override;
    [[nodiscard]] Peer self() const override;
    [[nodiscard]] Result<> connect(const std::vector<Peer>& peers) override;
    [[nodiscard]] Result<> start(RunNumber run) override;
    [[nodiscard]] Result<> stop(std::chrono::milliseconds deadline) override;
    [[nodiscard]] Result<> disconnect() override;
    [[nodiscard]] Result<> unconfigure() override;
    [[nodiscard]] Result<> change_peers(const std::vector<Peer>& peers) override;
    [[nodiscard]] service::StationStatus status() const override;

    /// A built event now and then, for whoever wants to look; never waited for.
    void sample_into(service::SampledEvents* samples) noexcept { samples_ = samples; }

private:
    class Logic;
    const BuilderStationOptions options_;
    service::Reports& reports_;
    const Clock& clock_;
    service::SampledEvents* samples_ = nullptr;
    service::SharedStatus status_;  // also before and after there is a logic
    std::unique_ptr<messaging::StationLoop> loop_;
    std::vector<Peer> peers_;
    RunNumber run_{};
    std::unique_ptr<Logic> logic_;  // while connected
};

}  // namespace weir::building
