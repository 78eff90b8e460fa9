// SPDX-License-Identifier: Apache-2.0
// One thread a stream, as ATLAS recorded: for the modes `original` and `parallel`. An event waits in the
// bounded queue of each of its streams.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace weir::recorder {

/// Runs jobs one after the other. Stopping runs what is queued first.
class StreamThread {
public:
    using Job = std::move_only_function<void()>;

    explicit StreamThread(std::size_t queue_max)
        : queue_max_(queue_max), thread_([this](const std::stop_token& stop) { run(stop); }) {}

    /// Waits while the queue is full: the receiving thread is held up by the slowest stream. That is how
    /// it was before; `receipt` has no such place.
    void push(Job job) {
        std::unique_lock lock(mutex_);
        has_room_.wait(lock, [&] { return queue_.size() < queue_max_; });
        queue_.push_back(std::move(job));
        changed_.notify_one();
    }

private:
    void run(const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        while (true) {
            changed_.wait(lock, stop, [&] { return !queue_.empty(); });
            if (queue_.empty()) return;
            auto job = std::move(queue_.front());
            queue_.pop_front();
            has_room_.notify_one();
            lock.unlock();
            job();
            job = nullptr;  // gives the event's memory back before it waits again
            lock.lock();
        }
    }

    const std::size_t queue_max_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::condition_variable has_room_;
    std::deque<Job> queue_;
    std::jthread thread_;  // the last member: it stops before what it uses is gone
};

}  // namespace weir::recorder
