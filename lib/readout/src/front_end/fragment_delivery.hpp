// SPDX-License-Identifier: Apache-2.0
// The way of a front-end's fragments into the buffers: it waits while they are full, and names what is refused.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>

#include "intake/fragment_intake.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/report.hpp"
#include "weir/readout/rob_store.hpp"

namespace weir::readout {

class FragmentDelivery {
public:
    /// All outlive it. `front_end`: its file, for reports.
    FragmentDelivery(FragmentIntake& intake, RobStore& store, Reporter report, std::string front_end,
                     const Clock& clock)
        : intake_(intake), store_(store), report_(std::move(report)), front_end_(std::move(front_end)), clock_(clock) {}

    /// Waits for room until `stop`. False: it was refused because there is none, and `stop` was requested.
    [[nodiscard]] bool deliver(const wire::InputFragment& fragment, const std::stop_token& stop);

    /// Nothing comes for this trigger any more, of no source: it is answered as lost, not waited for.
    void lose(Level1Id event);

    struct Stats {
        std::uint64_t fragments = 0, refused = 0;
        std::uint64_t triggers_lost = 0;
        std::chrono::nanoseconds busy{0};  // waited for room
    };
    [[nodiscard]] Stats stats() const noexcept;  // any thread
    [[nodiscard]] const Reporter& report() const noexcept { return report_; }
    [[nodiscard]] const std::string& front_end() const noexcept { return front_end_; }

private:
    void refused(const wire::InputFragment& fragment, RobReject reason, bool ordinary);

    FragmentIntake& intake_;
    RobStore& store_;
    const Reporter report_;
    const std::string front_end_;
    const Clock& clock_;
    // Written by the thread that delivers, read by any: relaxed.
    std::atomic<std::uint64_t> fragments_{0}, refused_{0}, triggers_lost_{0};
    std::atomic<std::int64_t> busy_ns_{0};
};

}  // namespace weir::readout
