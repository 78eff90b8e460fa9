// SPDX-License-Identifier: Apache-2.0
#include "run/stop_progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "cli/command_line.hpp"
#include "run/remote_calls.hpp"
#include "weir/service/log_entry.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr auto silent_at_first = 2s;
constexpr auto looked_every = 1s;

}  // namespace

StopProgress::StopProgress(std::string me, const service::ControlClient& client, const Clock& clock)
    : me_(std::move(me)), client_(client), clock_(clock), begin_(clock.now()) {
    look_for_last();
}

void StopProgress::look_for_last() {
    const auto page = body_of(client_.get(fmt::format("/log?after={}", std::numeric_limits<std::uint64_t>::max())));
    if (!page) return;
    json::Fields fields(*page, "the answer");
    after_ = fields.number("last", 0);
}

void StopProgress::step() {
    const auto now = clock_.now();
    if (now - begin_ < silent_at_first || now - asked_ < looked_every) return;
    asked_ = now;
    if (!std::exchange(said_, true))
        complain(me_, "waits until the run has stopped; Ctrl-C ends this command only, and the run stops all the same");
    if (!after_) return look_for_last();  // what came before is no news of this stop
    const auto page = body_of(client_.get(fmt::format("/log?after={}", *after_)));
    if (!page) return;
    json::Fields fields(*page, "the answer");
    const auto* lines = fields.array("lines", 100'000);
    if (lines == nullptr) return;
    for (const auto& line : *lines) {
        json::Fields of_line(line, "a line");
        after_ = std::max(*after_, of_line.number("number", *after_));
        if (of_line.text("station", "") != "run") continue;
        const auto entry = service::parse_log_line(of_line.text("text", "", 16'384), {});
        complain(me_, fmt::format("run control: {}", entry.text));
    }
}

}  // namespace weir::app
