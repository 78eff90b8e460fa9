// SPDX-License-Identifier: Apache-2.0
#include "readout/readout_waiting.hpp"

#include <algorithm>
#include <semaphore>
#include <vector>

#include "figures/machine.hpp"
#include "weir/readout/event_feed.hpp"

namespace weir::app {
namespace {

using namespace readout;

constexpr std::uint32_t robs = 12;         // of the readout, 1 kB each
constexpr std::uint32_t clear_group = 64;  // events
constexpr SourceId first_source{0x420000};

/// Asks for two ROBs of one event after the other, and clears what was answered.
class Asker {
public:
    explicit Asker(RobStore& store) : store_(store) {}

    const wire::DataRequest& next() {
        request_.request = next_;
        request_.kind = wire::RequestKind::level2;
        request_.events.assign(1, Level1Id{next_});
        const auto rob = next_ * 5 % robs;
        request_.robs = {SourceId{number(first_source) + rob}, SourceId{number(first_source) + (rob + 1) % robs}};
        ++next_;
        return request_;
    }
    wire::DataRequest& next_to_give() {
        static_cast<void>(next());
        return request_;
    }
    void answered(Level1Id event) {
        ++answered_;
        done_.push_back(event);
        if (done_.size() < clear_group) return;
        store_.clear(done_);
        done_.clear();
    }
    [[nodiscard]] std::uint64_t asked() const noexcept { return next_ - 1; }
    [[nodiscard]] std::uint64_t answers() const noexcept { return answered_; }

private:
    RobStore& store_;
    wire::DataRequest request_;
    std::uint32_t next_ = 1;
    std::uint64_t answered_ = 0;
    std::vector<Level1Id> done_;
};

}  // namespace

WaitingFigures measure_waiting(const WaitingCase& what, std::chrono::nanoseconds time) {
    const SystemClock clock;
    RobStoreOptions store_options{.events_max = 4096, .bytes_max = 128_MiB};
    auto maker = workload::make_fragment_generator({.first_source = first_source, .robs = robs}).value();
    store_options.sources = maker->sources();
    RobStore store(store_options);
    EventFeed feed(store, *maker, {.latency = what.latency.count() > 0 ? std::optional(what.latency) : std::nullopt});
    NamedThread feeder("feeder", [&](const std::stop_token& stop) { feed.run(stop, clock); });
    if (what.latency.count() == 0)
        static_cast<void>(store.wait_until_ready(Level1Id{2048}, {}, clock.now() + std::chrono::seconds(5)));

    Asker asker(store);
    WaitingFigures figures;
    const auto measured = [&](SteadyTime began, std::chrono::nanoseconds cpu_before) {
        const auto answers = static_cast<double>(std::max<std::uint64_t>(asker.answers(), 1));
        figures.requests_per_s =
            static_cast<double>(asker.answers()) / std::chrono::duration<double>(clock.now() - began).count();
        figures.cpu_per_request = std::chrono::duration<double>(cpu_time() - cpu_before).count() / answers;
    };
    if (what.handlers == 0) {
        AnswerMaker answer_maker;
        Answer answer;
        const auto cpu_before = cpu_time();
        const auto began = clock.now();
        while (clock.now() - began < time) {
            const auto& request = asker.next();
            while (!store.ready(request.events[0], request.robs))
                static_cast<void>(store.wait_until_ready(request.events[0], request.robs, clock.now() + time));
            static_cast<void>(answer_maker.make(store, {}, request.request, request.events[0], request.robs, answer));
            asker.answered(request.events[0]);
        }
        measured(began, cpu_before);
    } else {
        std::counting_semaphore<> made{0};
        RequestHandlers handlers(
            store, {.handlers = what.handlers, .strategy = what.strategy, .wait_max = std::chrono::seconds(1)}, clock,
            [&] { made.release(); }, [&](Level1Id event, SteadyTime now) { feed.ask(event, now); });
        const std::uint64_t outstanding = 2 * std::uint64_t{what.handlers} + 8;
        const auto cpu_before = cpu_time();
        const auto began = clock.now();
        while (clock.now() - began < time) {
            while (asker.asked() - asker.answers() < outstanding)
                if (!handlers.give({}, asker.next_to_give())) break;
            if (!made.try_acquire_for(std::chrono::milliseconds(100))) continue;
            handlers.flush([&](const Answer& answer) { asker.answered(answer.event); });
        }
        measured(began, cpu_before);
        handlers.stop();
    }
    feeder.request_stop();
    store.stop_waiting();
    feeder.join();
    return figures;
}

}  // namespace weir::app
