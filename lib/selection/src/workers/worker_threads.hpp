// SPDX-License-Identifier: Apache-2.0
// Threads that run a selection on one item after another. Each has a Selector of its own. A plug-in that never returns
// holds up its thread only: stuck() shows it, and it is left behind when the station stops.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/named_thread.hpp"
#include "weir/base/thread_account.hpp"
#include "weir/selection/selector.hpp"

namespace weir::selection {

/// The time that a selection waits for the fragments that it has requested: it does not hang then.
class UncountedWaits final : public FragmentRequests {
public:
    UncountedWaits(FragmentRequests* requests, std::atomic<std::int64_t>& since, const Clock& clock)
        : requests_(requests), since_(since), clock_(clock) {}
    ~UncountedWaits() = default;

    std::span<const Fragment> request(std::span<const SourceId> sources) override {
        const auto now = [this] { return clock_.now().time_since_epoch().count(); };
        const auto computed = now() - since_.load(std::memory_order_relaxed);
        since_.store(0, std::memory_order_release);
        const auto fragments = requests_->request(sources);
        since_.store(now() - computed, std::memory_order_release);
        return fragments;
    }
    const Fragment* find(SourceId source) const noexcept override { return requests_->find(source); }

private:
    FragmentRequests* requests_;
    std::atomic<std::int64_t>& since_;  // of the worker
    const Clock& clock_;
};

template <class Item>
class WorkerThreads {
public:
    struct Calls {
        /// The event that the selection gets; nullptr: there is nothing to select, `done` gets a judgement without
        /// trouble.
        std::function<const Event*(Item&)> view;
        /// Whether it goes through Selector::select_apart(); without it none does.
        std::function<bool(const Item&)> apart{};
        std::function<void(Item&&, Judgement&&, const std::stop_token&)> done;
    };

    /// The clock outlives the threads, also those that are left behind.
    WorkerThreads(const std::string& thread_name, unsigned threads, std::size_t queue_max, const Selection& selection,
                  Calls calls, const Clock& clock)
        : state_(std::make_shared<State>()) {
        state_->clock = &clock;
        state_->calls = std::move(calls);
        state_->queue_max = queue_max;
        state_->workers = std::vector<Worker>(threads);
        for (auto& worker : state_->workers) worker.selector = selection.make();
        for (unsigned i = 0; i < threads; ++i) {
            threads_.emplace_back([state = state_, i, accounts = ThreadAccounts::of_this_thread(), name = thread_name] {
                name_this_thread(name);
                std::optional<ThreadAccounts::Entry> entry;
                if (accounts != nullptr) entry.emplace(*accounts, name);
                work(*state, state->workers[i]);
            });
        }
    }
    ~WorkerThreads() { static_cast<void>(stop(std::chrono::milliseconds{1000})); }
    WorkerThreads(const WorkerThreads&) = delete;
    WorkerThreads& operator=(const WorkerThreads&) = delete;

    /// False: the queue is full, the item is left as it was.
    [[nodiscard]] bool push(Item& item) {
        {
            const std::scoped_lock lock(state_->mutex);
            if (state_->queue.size() >= state_->queue_max) return false;
            state_->queue.push_back(std::move(item));
        }
        state_->wake.notify_one();
        return true;
    }
    [[nodiscard]] std::size_t queued() const {
        const std::scoped_lock lock(state_->mutex);
        return state_->queue.size();
    }
    /// Workers whose selection has run for longer than this: the ids of their events.
    [[nodiscard]] std::vector<GlobalEventId> stuck(SteadyTime now, std::chrono::nanoseconds longer_than) const {
        std::vector<GlobalEventId> ids;
        for (const auto& worker : state_->workers) {
            const auto since = worker.since.load(std::memory_order_acquire);
            if (since != 0 && now.time_since_epoch() - std::chrono::nanoseconds(since) > longer_than)
                ids.push_back(GlobalEventId{worker.event.load(std::memory_order_relaxed)});
        }
        return ids;
    }
    /// For how long the selection that was begun first has run; zero: none runs.
    [[nodiscard]] std::chrono::nanoseconds longest(SteadyTime now) const {
        std::chrono::nanoseconds time{0};
        for (const auto& worker : state_->workers) {
            const auto since = worker.since.load(std::memory_order_acquire);
            if (since != 0) time = std::max(time, now.time_since_epoch() - std::chrono::nanoseconds(since));
        }
        return time;
    }
    [[nodiscard]] std::uint64_t restarts() const noexcept {
        std::uint64_t all = 0;
        for (const auto& worker : state_->workers) all += worker.restarts.load(std::memory_order_relaxed);
        return all;
    }

    /// No more items are begun, and what a selection that waits for fragments then decides does not count. stop()
    /// follows.
    void request_stop() { state_->stop.request_stop(); }
    /// Ends the threads; queued items are released. False: some hang in their selection, and were left behind with the
    /// events that they have. They do not use objects of `done` any more.
    bool stop(std::chrono::milliseconds deadline) {
        if (threads_.empty()) return true;
        state_->stop.request_stop();
        std::unique_lock lock(state_->mutex);
        state_->wake.notify_all();
        const bool all =
            state_->ended.wait_for(lock, deadline, [&] { return state_->threads_ended == state_->workers.size(); });
        state_->abandoned = !all;
        std::deque<Item> released;
        released.swap(state_->queue);
        // A thread that is inside `done` now notices the stop, and is waited for: only a selection may be left behind.
        state_->ended.wait(lock, [&] { return state_->in_done == 0; });
        lock.unlock();
        released.clear();
        for (auto& thread : threads_) {
            if (all) {
                thread.join();
            } else {
                thread.detach();
            }
        }
        threads_.clear();
        return all;
    }

private:
    struct alignas(64) Worker {
        std::unique_ptr<Selector> selector;
        std::atomic<std::int64_t> since{0};   // steady nanoseconds; released by the worker, acquired by stuck()
        std::atomic<std::uint64_t> event{0};  // ordered by `since`
        std::atomic<std::uint64_t> restarts{0};
    };
    struct State {  // shared between this object and threads that were left behind
        Calls calls;
        const Clock* clock = nullptr;
        std::size_t queue_max = 0;
        std::mutex mutex;
        std::condition_variable wake, ended;
        std::deque<Item> queue;
        std::vector<Worker> workers;
        std::size_t threads_ended = 0;
        std::size_t in_done = 0;
        bool abandoned = false;
        std::stop_source stop;
    };

    static void work(State& state, Worker& worker) {
        const auto token = state.stop.get_token();
        std::unique_lock lock(state.mutex);
        while (!token.stop_requested()) {
            if (state.queue.empty()) {
                const ScopedWait wait(WaitCause::queue);
                state.wake.wait(lock, [&] { return !state.queue.empty() || token.stop_requested(); });
                continue;
            }
            auto item = std::move(state.queue.front());
            state.queue.pop_front();
            ++state.in_done;
            lock.unlock();
            Judgement judgement;
            const auto* event = state.calls.view(item);
            if (event != nullptr) {
                lock.lock();
                if (--state.in_done == 0) state.ended.notify_all();
                lock.unlock();
                worker.event.store(number(event->global_id), std::memory_order_relaxed);
                worker.since.store(state.clock->now().time_since_epoch().count(), std::memory_order_release);
                const bool apart = state.calls.apart && state.calls.apart(item);
                UncountedWaits requests(event->requests, worker.since, *state.clock);
                auto with = *event;
                if (with.requests != nullptr) with.requests = &requests;
                judgement = apart ? worker.selector->select_apart(with, token) : worker.selector->select(with, token);
                worker.since.store(0, std::memory_order_release);
                worker.restarts.store(worker.selector->restarts(), std::memory_order_relaxed);
                lock.lock();
                if (state.abandoned) {  // the item's memory may be gone: it is leaked
                    static_cast<void>(new Item(std::move(item)));
                    break;
                }
                ++state.in_done;
                lock.unlock();
            }
            state.calls.done(std::move(item), std::move(judgement), token);
            lock.lock();
            if (--state.in_done == 0) state.ended.notify_all();
        }
        worker.selector.reset();
        ++state.threads_ended;
        state.ended.notify_all();
    }

    std::shared_ptr<State> state_;
    std::vector<std::thread> threads_;
};

}  // namespace weir::selection
