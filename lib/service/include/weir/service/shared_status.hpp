// SPDX-License-Identifier: Apache-2.0
// What a station's thread wrote last, for those who ask from other threads; and the wait for something to become true.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "weir/service/station.hpp"

namespace weir::service {

class SharedStatus {
public:
    void write(StationStatus status, bool idle) {
        {
            const std::scoped_lock lock(mutex_);
            status_ = std::move(status);
            idle_ = idle;
        }
        changed_.notify_all();
    }
    [[nodiscard]] StationStatus read() const {
        const std::scoped_lock lock(mutex_);
        return status_;
    }
    [[nodiscard]] bool wait_idle(std::chrono::milliseconds at_most) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, at_most, [&] { return idle_; });
    }

private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    StationStatus status_;
    bool idle_ = false;
};

}  // namespace weir::service
