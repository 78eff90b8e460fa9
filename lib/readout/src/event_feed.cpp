// SPDX-License-Identifier: Apache-2.0
#include "weir/readout/event_feed.hpp"

#include <sys/prctl.h>

#include <algorithm>

#include "weir/base/thread_account.hpp"

namespace weir::readout {
namespace {

constexpr std::chrono::milliseconds look_again{100};

}  // namespace

EventFeed::EventFeed(RobStore& store, workload::FragmentMaker& maker, const EventFeedOptions& options)
    : store_(store),
      maker_(maker),
      options_(options),
      next_(options.first),
      put_(std::make_unique<Put[]>(store.sources().size())) {
    if (options.latency) remembered_.resize(store.ring_size());
}

EventFeed::Step EventFeed::step(SteadyTime now) { return options_.latency ? step_on_demand(now) : step_in_order(); }

PutResult EventFeed::put(Level1Id event) {
    const auto robs = maker_.make(event);
    const auto result = store_.put_event(event, robs);
    if (result != PutResult::stored) return result;
    const auto& sources = store_.sources();
    std::size_t next = 0;  // they come in the order of the store's sources, mostly
    for (const auto& rob : robs) {
        auto place = next;
        if (place >= sources.size() || sources[place] != rob.source)
            place = static_cast<std::size_t>(std::ranges::find(sources, rob.source) - sources.begin());
        if (place == sources.size() || rob.bytes.empty()) continue;
        next = place + 1;
        auto& counts = put_[place];
        counts.fragments.store(counts.fragments.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        counts.bytes.store(counts.bytes.load(std::memory_order_relaxed) + rob.bytes.size(), std::memory_order_relaxed);
    }
    return result;
}

std::vector<service::SourceStatus> EventFeed::sources() const {
    std::vector<service::SourceStatus> all;
    for (std::size_t place = 0; place < store_.sources().size(); ++place)
        all.push_back({.source = store_.sources()[place],
                       .arrived = put_[place].fragments.load(std::memory_order_relaxed),
                       .bytes = put_[place].bytes.load(std::memory_order_relaxed)});
    return all;
}

EventFeed::Step EventFeed::step_in_order() {
    Step step;
    for (std::uint32_t i = 0; i < options_.step_max; ++i) {
        const auto oldest = store_.oldest();
        if (wire::level1_distance(next_, oldest) < 0) next_ = oldest;  // all before it is done with
        if (put(next_) == PutResult::full) return step;
        next_ = Level1Id{number(next_) + 1};
        ++step.events;
    }
    return step;
}

EventFeed::Step EventFeed::step_on_demand(SteadyTime now) {
    Step step;
    while (step.events < options_.step_max) {
        Level1Id event{};
        {
            const std::scoped_lock lock(mutex_);
            if (queue_.empty()) return step;
            step.due = queue_.front().due;
            if (*step.due > now) return step;
            event = queue_.front().event;
            queue_.pop_front();
            remembered_[number(event) & (store_.ring_size() - 1)] =
                0;  // a full store does not keep it: a re-request brings it
        }
        step.due.reset();
        static_cast<void>(put(event));
        ++step.events;
    }
    return step;
}

void EventFeed::ask(Level1Id event, SteadyTime now) {
    if (!options_.latency || !store_.within_window(event)) return;
    bool first = false;
    {
        const std::scoped_lock lock(mutex_);
        auto& last = remembered_[number(event) & (store_.ring_size() - 1)];
        const auto mark = number(event) | std::uint64_t{1} << 32;
        if (last == mark || queue_.size() >= store_.ring_size()) return;
        last = mark;
        first = queue_.empty();
        queue_.push_back({event, now + *options_.latency});
    }
    if (first) asked_.notify_one();
}

void EventFeed::run(const std::stop_token& stop, const Clock& clock) {
    if (options_.latency) ::prctl(PR_SET_TIMERSLACK, 1UL);  // else the kernel adds up to 50 us to each wait
    while (!stop.stop_requested()) {
        const auto seen = store_.room_changes();
        const auto made = step(clock.now());
        if (made.events > 0) continue;
        const auto until = made.due.value_or(clock.now() + look_again);
        if (!options_.latency) {
            const ScopedWait wait(WaitCause::pool);
            store_.wait_for_room(seen, until);
            continue;
        }
        const ScopedWait wait(made.due ? WaitCause::timer : WaitCause::queue);
        std::unique_lock lock(mutex_);
        const auto due_before = queue_.empty() ? std::optional<SteadyTime>{} : std::optional(queue_.front().due);
        if (due_before != made.due) continue;  // it was asked for meanwhile
        if (made.due) {
            asked_.wait_until(lock, stop, until, [] { return false; });
        } else {
            asked_.wait_until(lock, stop, until, [&] { return !queue_.empty(); });
        }
    }
}

}  // namespace weir::readout
