// SPDX-License-Identifier: Apache-2.0
// The event filter as a station: one Filter for each run, at the same address.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/report.hpp"
#include "weir/memory/buffer_pool.hpp"
#include "weir/selection/filter.hpp"
#include "weir/service/sampled_events.hpp"
#include "weir/service/station.hpp"
#include "weir/service/timers.hpp"
#include "weir/transport/reserved_port.hpp"

namespace weir::selection {

struct FilterStationOptions {
    wire::StationId id{};
    FilterOptions filter{};
    SelectionSpec selection{};
    Bytes memory{512ULL << 20};  // of events in hand; credit for builders is what is free of it
};

class FilterStation final : public service::Station {
public:
    /// Timers and clock outlive the station.
    FilterStation(FilterStationOptions options, Reporter report, service::Timers& timers, const Clock& clock);
    ~FilterStation() override;

    [[nodiscard]] Result<> configure() override;
    [[nodiscard]] Peer self() const override;
    [[nodiscard]] Result<> connect(const std::vector<Peer>& peers) override;
    [[nodiscard]] Result<> start(RunNumber run) override;
    /// A library of threads runs in processes then: it may be what ended the process before.
    [[nodiscard]] Result<> start_again(RunNumber run) override;
    [[nodiscard]] Result<> stop(std::chrono::milliseconds deadline) override;
    [[nodiscard]] Result<> disconnect() override;
    [[nodiscard]] Result<> unconfigure() override;
    [[nodiscard]] Result<> change_peers(const std::vector<Peer>& peers) override;
    [[nodiscard]] service::StationStatus status() const override;

    /// A filtered event now and then, for inspection; never waited for.
    void sample_into(service::SampledEvents* samples) noexcept { samples_ = samples; }

private:
    [[nodiscard]] Result<std::unique_ptr<Filter>> listen();
    void end_filter();  // with the mutex
    void leak_pool();

    const FilterStationOptions options_;
    const Reporter report_;
    service::Timers& timers_;
    const Clock& clock_;
    service::SampledEvents* samples_ = nullptr;
    std::optional<Selection> selection_;
    std::unique_ptr<memory::BufferPool> pool_;
    bool left_behind_ = false;  // threads that hang have events of the pool
    std::vector<Peer> peers_;
    std::optional<transport::ReservedPort> port_;
    mutable std::mutex mutex_;  // of the next two: status() is asked from any thread
    std::unique_ptr<Filter> filter_;
    std::optional<FilterStats> last_;  // of the run that has ended
    service::Timers::Periodic watch_;  // looks for selections that hang; the last member: it uses all others
};

}  // namespace weir::selection
