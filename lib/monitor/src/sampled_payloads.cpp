// SPDX-License-Identifier: Apache-2.0
#include "sampled_payloads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/json/parse.hpp"

namespace weir::monitor {
namespace {

using namespace std::chrono_literals;

constexpr auto look_every = 5ms;
constexpr auto tap_wait = 1'000ms;       // of a station, for the next event
constexpr auto tap_deadline = 10'000ms;  // for an answer
constexpr auto asked_again = 1'000ms;    // of a station that did not answer
constexpr Bytes tap_answer_most = 32_MiB;

}  // namespace

struct SampledPayloads::State {
    struct One {
        SampledStation station;
        bool asked = false;
        bool waits = false;   // an event of it is to be taken
        bool silent = false;  // it did not answer, and that was reported
        SteadyTime not_before{};
    };
    State(SampleOptions with, Reporter reporter, const Clock& with_clock)
        : options(std::move(with)), report(std::move(reporter)), clock(with_clock) {}

    const SampleOptions options;
    const Reporter report;
    const Clock& clock;
    std::mutex mutex;
    std::vector<One> stations;
    std::deque<std::pair<std::string, std::string>> events;  // of which station, bytes
    std::function<void()> came;                              // nothing: no run
    SteadyTime rests_until{}, next{};
    std::size_t turn = 0;  // who is asked first the next time
    bool rests = false;
    Stats stats{};

    One* find(const std::string& name) {
        const auto found = std::ranges::find(stations, name, [](const One& one) { return one.station.name; });
        return found == stations.end() ? nullptr : &*found;
    }

    void answered(const std::string& name, Result<service::ControlAnswer> answer) {
        std::optional<std::string> said;
        {
            const std::scoped_lock lock(mutex);
            auto* one = find(name);
            if (one == nullptr) return;
            one->asked = false;
            if (answer && answer->good()) {
                if (std::exchange(one->silent, false)) said = fmt::format("{} gives events again", name);
                if (answer->content_type == "application/octet-stream" && !answer->body.empty()) {
                    if (came) {
                        one->waits = true;
                        events.emplace_back(name, std::move(answer->body));
                        came();
                    }
                } else if (const auto document = json::parse(answer->body)) {
                    json::Fields fields(*document, "the answer");
                    stats.too_large += fields.number("too_large", 0);
                }
            } else {
                one->not_before = clock.now() + asked_again;
                if (!std::exchange(one->silent, true))
                    said = fmt::format("no events of {}: {}; it is asked again", name,
                                       answer ? answer->error() : answer.error().message());
            }
        }
        if (said) report.warning(*said);
    }
};

SampledPayloads::SampledPayloads(SampleOptions options, Reporter report, const Clock& clock)
    : state_(std::make_shared<State>(std::move(options), std::move(report), clock)) {}

Result<std::unique_ptr<SampledPayloads>> SampledPayloads::start(SampleOptions options, service::Timers& timers,
                                                                Reporter report, const Clock& clock) {
    auto tls = options.tls;
    std::unique_ptr<SampledPayloads> made(new SampledPayloads(std::move(options), std::move(report), clock));
    made->calls_ = WEIR_TRY(service::ControlCalls::start(std::move(tls), tap_answer_most));
    made->timer_ = timers.every(look_every, [payloads = made.get()] { payloads->look(); });
    return made;
}

SampledPayloads::~SampledPayloads() { end(); }

void SampledPayloads::ask_of(const std::vector<SampledStation>& stations) {
    const std::scoped_lock lock(state_->mutex);
    std::vector<State::One> now;
    for (const auto& station : stations) {
        State::One one{.station = station};
        if (const auto* had = state_->find(station.name)) {
            one.asked = had->asked;
            one.waits = had->waits;
            one.silent = had->silent;
        }
        now.push_back(std::move(one));
    }
    state_->stations = std::move(now);
}

void SampledPayloads::begin(std::function<void()> came) {
    const std::scoped_lock lock(state_->mutex);
    state_->came = std::move(came);
    state_->rests = false;
    state_->stats = {};
}

void SampledPayloads::end() {
    const std::scoped_lock lock(state_->mutex);
    state_->came = {};
    state_->events.clear();
    for (auto& one : state_->stations) one.waits = false;
}

std::optional<std::string> SampledPayloads::take() {
    const std::scoped_lock lock(state_->mutex);
    auto& state = *state_;
    if (state.events.empty() || state.rests) return std::nullopt;
    auto [name, event] = std::move(state.events.front());
    state.events.pop_front();
    if (auto* one = state.find(name)) one->waits = false;
    return event;
}

void SampledPayloads::rest(std::chrono::nanoseconds time) {
    const std::scoped_lock lock(state_->mutex);
    state_->rests = true;
    state_->rests_until = state_->clock.now() + time;
}

SampledPayloads::Stats SampledPayloads::stats() const {
    const std::scoped_lock lock(state_->mutex);
    auto stats = state_->stats;
    stats.silent = static_cast<std::size_t>(std::ranges::count(state_->stations, true, &State::One::silent));
    return stats;
}

void SampledPayloads::look() {
    std::vector<SampledStation> to_ask;
    {
        const std::scoped_lock lock(state_->mutex);
        auto& state = *state_;
        if (!state.came) return;
        const auto now = state.clock.now();
        if (state.rests) {
            if (now < state.rests_until) return;
            state.rests = false;
            state.came();
        }
        const auto first = state.turn;
        for (std::size_t i = 0; i < state.stations.size(); ++i) {
            if (state.options.rate > 0 && now < state.next) break;
            auto& one = state.stations[(first + i) % state.stations.size()];
            if (one.asked || one.waits || one.station.control.empty() || now < one.not_before) continue;
            one.asked = true;
            state.turn = (first + i + 1) % state.stations.size();
            ++state.stats.asked;
            to_ask.push_back(one.station);
            if (state.options.rate > 0)
                state.next = std::max(state.next, now - look_every) +
                             std::chrono::duration_cast<std::chrono::nanoseconds>(
                                 std::chrono::duration<double>(std::min(1 / state.options.rate, 1e6)));
        }
    }
    for (const auto& station : to_ask) call(station.name, station.control);
}

void SampledPayloads::call(const std::string& name, const std::string& address) {
    calls_->get(
        address, fmt::format("/tap?wait={}{}", tap_wait.count(), state_->options.query), tap_deadline,
        [state = state_, name](Result<service::ControlAnswer> answer) { state->answered(name, std::move(answer)); });
}

}  // namespace weir::monitor
