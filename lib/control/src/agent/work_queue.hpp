// SPDX-License-Identifier: Apache-2.0
// Work that is done one after the other, by one thread that waits for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <utility>

namespace weir::control {

class WorkQueue {
public:
    /// Any thread.
    void post(std::function<void()> work) {
        const std::scoped_lock lock(mutex_);
        queue_.push_back(std::move(work));
        changed_.notify_one();
    }
    /// Does what there is; waits for it `at_most`. One thread.
    void work(const std::stop_token& stop, std::chrono::milliseconds at_most) {
        std::deque<std::function<void()>> all;
        {
            std::unique_lock lock(mutex_);
            changed_.wait_for(lock, stop, at_most, [this] { return !queue_.empty(); });
            all.swap(queue_);
        }
        for (auto& item : all) item();
    }

private:
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<std::function<void()>> queue_;
};

}  // namespace weir::control
