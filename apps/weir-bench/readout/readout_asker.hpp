// SPDX-License-Identifier: Apache-2.0
// Stands for the second level, the builders and the one who clears, towards one readout: asks for two ROBs of every
// event and for all ROBs of every eighth, at a set rate or as fast as answers come, and clears what is answered.
#pragma once

#include <atomic>
#include <chrono>
#include <vector>

#include "weir/messaging/messages.hpp"
#include "weir/wire/dataflow.hpp"

namespace weir::app {

struct AskerOptions {
    wire::StationId readout{};
    std::vector<SourceId> sources{};
    double rate = 0;                       // events/s; 0: as fast as they are answered
    std::uint32_t events_per_build = 8;    // one of so many is built
    std::uint32_t outstanding_max = 2048;  // events
    std::uint32_t clear_group = 100;
    std::chrono::milliseconds again{20};  // a request that is not answered is sent again
};

struct AskerFigures {
    std::uint64_t level2 = 0, building = 0;  // requests that were answered in full
    std::uint64_t bytes = 0;
    std::uint64_t re_requested = 0;     // not answered in time, or "not yet"
    std::uint64_t behind = 0;           // events that could not be asked for when they were due
    std::vector<float> level2_times{};  // from request to answer, s
};

class ReadoutAsker final : public messaging::MessageHandler {
public:
    ReadoutAsker(messaging::MessageSender& messages, const AskerOptions& options);

    /// Counting begins afresh.
    void begin(SteadyTime now);
    [[nodiscard]] const AskerFigures& figures() const noexcept { return figures_; }

    void on_message(const messaging::IncomingMessage& message, SteadyTime now) override;
    void on_peer(wire::StationId, messaging::PeerChange, SteadyTime) override {}
    [[nodiscard]] std::optional<SteadyTime> step(SteadyTime now) override;

private:
    struct Event {
        SteadyTime asked{};
        bool level2 = false, building = false;  // is still to be answered
    };
    void ask(std::uint32_t event, SteadyTime now);
    void send(wire::RequestKind kind, std::uint32_t event);
    void clear_done();
    [[nodiscard]] Event& at(std::uint32_t event) noexcept { return events_[event % events_.size()]; }
    [[nodiscard]] bool builds(std::uint32_t event) const noexcept { return event % options_.events_per_build == 0; }

    messaging::MessageSender& messages_;
    const AskerOptions options_;
    AskerFigures figures_;
    std::vector<Event> events_;  // from oldest_ to next_
    std::uint32_t oldest_ = 1, next_ = 1;
    bool going_ = false;
    SteadyTime due_{};  // when the next is to be asked for
    SteadyTime looked_{};
    std::vector<Level1Id> done_;
    wire::DataRequest request_;
    wire::DataView view_;
    std::vector<std::byte> bytes_;
};

}  // namespace weir::app
