// SPDX-License-Identifier: Apache-2.0
#include "triggers/clock_triggers.hpp"

#include <cmath>

#include "triggers/made_triggers.hpp"
#include "triggers/trigger_time.hpp"

namespace weir::selection {

ClockTriggers::ClockTriggers(const ClockTriggersOptions& options, const Clock& clock)
    : options_(options), clock_(clock), random_(options.seed) {}

void ClockTriggers::start_run(SteadyTime now) {
    random_ = Random(options_.seed);
    made_ = dead_time_ = 0;
    resume(now);
}

void ClockTriggers::resume(SteadyTime now) {
    anchor_ = now;
    wall_anchor_ = clock_.wall();
    intervals_ = 0;
    offset_ns_ = 0;
    go_on();
}

/// Each time is computed from the anchor, so that nothing adds up but the intervals themselves.
void ClockTriggers::go_on() {
    ++intervals_;
    if (options_.random) offset_ns_ += -std::log1p(-random_.unit()) * 1e9 / options_.rate;
    else offset_ns_ = static_cast<double>(intervals_) * 1e9 / options_.rate;
    next_at_ = anchor_ + std::chrono::nanoseconds(std::llround(offset_ns_));
}

wire::EventTicket ClockTriggers::take(SteadyTime) {
    wire::EventTicket ticket;
    set_time(ticket, wall_anchor_ + (next_at_ - anchor_));
    make_up_header(options_.seed, made_, ticket);
    ticket.level1_id = Level1Id{number(options_.first) + static_cast<std::uint32_t>(made_)};
    ++made_;
    go_on();
    return ticket;
}

void ClockTriggers::refuse(SteadyTime now) {
    while (next_at_ <= now) {
        ++dead_time_;
        go_on();
    }
}

}  // namespace weir::selection
