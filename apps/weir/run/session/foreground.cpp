// SPDX-License-Identifier: Apache-2.0
#include "run/session/foreground.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "cli/command_line.hpp"
#include "run/session/run_report.hpp"

namespace weir::app {

using namespace std::chrono_literals;

Result<> Foreground::drive(Signals& signals) {
    WEIR_TRY(options_.adopt ? control_.take_over() : control_.bring_up());
    while (true) {
        control_.step();
        const auto now = control_.glance();
        if (now.state == control::PartitionState::down) return {};
        if (const auto by = superseded_ ? superseded_() : std::nullopt)
            return fail(Errc::refused,
                        fmt::format("{}; this run control ends, and leaves stations and run to that one", *by));
        next(now);
        show();
        if (!signals.wait(20ms)) continue;
        if (interrupted_) {
            control_.abandon("interrupted twice: the stations were killed, and what they had in hand is lost");
            return {};
        }
        interrupted_ = true;
        control_.shut_down("interrupted");
    }
}

void Foreground::next(const control::PartitionGlance& now) {
    if (now.state == control::PartitionState::ready && !options_.wait) {
        if (now.begins_again) return;
        if (now.runs > 0) {
            control_.shut_down("the run is over");
        } else if (const auto run = control_.start({options_.comment, {}}); !run && run.error().code != Errc::refused) {
            complain(weir_run, run.error().message());
            control_.shut_down(run.error().message());
        }
    }
    if (now.state == control::PartitionState::running && options_.duration > 0ms &&
        now.seconds >= std::chrono::duration<double>(options_.duration).count())
        static_cast<void>(control_.stop("the time is over", control::Drain::complete));
}

void Foreground::show() {
    if (!line_.due()) return;
    const auto now = control_.view();
    if (now.run != before_.run || now.seconds - before_.seconds >= 1) before_ = std::exchange(last_, now);
    line_.show(now.run == RunNumber{} ? fmt::format("partition is {}", name(now.state)) : progress_text(now, before_));
}

}  // namespace weir::app
