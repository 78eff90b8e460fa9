// SPDX-License-Identifier: Apache-2.0
// How fragments that come from outside, or from a plug-in, are measured: what is here is cleared, and counted between
// two looks.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "weir/base/ids.hpp"
#include "weir/messaging/messages.hpp"
#include "weir/wire/dataflow.hpp"

namespace weir::app {

inline constexpr SourceId input_source{0x420000};

struct InputFigures {
    double rate = 0;  // fragments/s
    double cpu = 0;   // of all threads that receive, s a fragment
    double lost = 0;  // share of what was sent
};

/// Clears what is done with, in large groups, as a DFM does. `newest`: up to which event all is, looked at in the
/// thread of the loop at each interval. The messages outlive it.
class Clearer final : public messaging::MessageHandler {
public:
    Clearer(messaging::MessageSender& messages, wire::StationId readout, std::function<std::uint32_t()> newest,
            std::chrono::microseconds interval)
        : messages_(messages), readout_(readout), newest_(std::move(newest)), interval_(interval) {}

    void on_message(const messaging::IncomingMessage&, SteadyTime) override {}
    void on_peer(wire::StationId, messaging::PeerChange, SteadyTime) override {}
    [[nodiscard]] std::optional<SteadyTime> step(SteadyTime now) override;

private:
    messaging::MessageSender& messages_;
    const wire::StationId readout_;
    const std::function<std::uint32_t()> newest_;
    const std::chrono::microseconds interval_;
    std::uint32_t cleared_ = 0;
    wire::Clear clear_;
    std::vector<std::byte> bytes_;
};

/// The rate between two looks, and the processor time for each fragment.
[[nodiscard]] InputFigures measure_between(std::chrono::milliseconds time, const std::function<double()>& fragments,
                                           const std::function<double()>& processor);

}  // namespace weir::app
