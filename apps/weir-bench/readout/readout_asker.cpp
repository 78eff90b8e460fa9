// SPDX-License-Identifier: Apache-2.0
#include "readout/readout_asker.hpp"

#include <algorithm>

namespace weir::app {
namespace {

constexpr std::uint32_t step_events = 64;
constexpr std::chrono::microseconds pace{200};  // at most so long between two looks at what is due

}  // namespace

ReadoutAsker::ReadoutAsker(messaging::MessageSender& messages, const AskerOptions& options)
    : messages_(messages), options_(options), events_(options.outstanding_max) {}

void ReadoutAsker::begin(SteadyTime now) {
    figures_ = {};
    due_ = now;
    going_ = true;
}

void ReadoutAsker::send(wire::RequestKind kind, std::uint32_t event) {
    request_.request = std::uint64_t{event} * 2 + (kind == wire::RequestKind::building ? 1 : 0);
    request_.kind = kind;
    request_.events.assign(1, Level1Id{event});
    request_.robs.clear();
    if (kind == wire::RequestKind::level2) {
        const auto count = options_.sources.size();
        request_.robs = {options_.sources[event * 5 % count], options_.sources[(event * 5 + 1) % count]};
    }
    bytes_.clear();
    wire::encode(request_, bytes_);
    messages_.send(options_.readout, wire::DataflowType::data_request, ConstData(bytes_));
}

void ReadoutAsker::ask(std::uint32_t event, SteadyTime now) {
    at(event) = {.asked = now, .level2 = true, .building = builds(event)};
    send(wire::RequestKind::level2, event);
    if (builds(event)) send(wire::RequestKind::building, event);
}

void ReadoutAsker::on_message(const messaging::IncomingMessage& message, SteadyTime now) {
    if (message.type != wire::DataflowType::data || !wire::decode(message.body, view_)) return;
    const auto event = number(view_.head.level1_id);
    if (event - oldest_ >= next_ - oldest_) return;
    const bool whole = std::ranges::all_of(
        view_.head.robs, [](const wire::RobPart& part) { return part.state == wire::RobState::here; });
    auto& one = at(event);
    bool& open = view_.head.request % 2 == 1 ? one.building : one.level2;
    if (!whole || !open) return;
    open = false;
    figures_.bytes += view_.data.size();
    if (view_.head.request % 2 == 1) {
        ++figures_.building;
    } else {
        ++figures_.level2;
        figures_.level2_times.push_back(std::chrono::duration<float>(now - one.asked).count());
    }
}

void ReadoutAsker::clear_done() {
    while (oldest_ != next_ && !at(oldest_).level2 && !at(oldest_).building && done_.size() < wire::clear_events_max) {
        done_.push_back(Level1Id{oldest_});
        ++oldest_;
    }
    if (done_.size() < options_.clear_group) return;
    bytes_.clear();
    wire::encode(wire::Clear{.oldest = Level1Id{oldest_}, .events = done_}, bytes_);
    if (messages_.send_reliably(options_.readout, wire::DataflowType::clear, ConstData(bytes_))) done_.clear();
}

std::optional<SteadyTime> ReadoutAsker::step(SteadyTime now) {
    if (!going_) return std::nullopt;
    clear_done();
    if (now - looked_ >= options_.again) {
        looked_ = now;
        for (auto event = oldest_; event != next_; ++event) {
            auto& one = at(event);
            if ((!one.level2 && !one.building) || now - one.asked < options_.again) continue;
            ++figures_.re_requested;
            if (one.level2) send(wire::RequestKind::level2, event);
            if (one.building) send(wire::RequestKind::building, event);
        }
    }
    const auto period =
        options_.rate > 0
            ? std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(1 / options_.rate))
            : std::chrono::nanoseconds(0);
    for (std::uint32_t i = 0; i < step_events; ++i) {
        if (options_.rate > 0 && due_ > now) break;
        if (next_ - oldest_ >= options_.outstanding_max) {
            if (options_.rate <= 0) break;
            ++figures_.behind;  // it is not made up for
        } else {
            ask(next_++, now);
        }
        due_ += period;
    }
    if (options_.rate > 0) return std::max(due_, now + pace);
    return next_ - oldest_ < options_.outstanding_max ? now : now + options_.again;
}

}  // namespace weir::app
