// SPDX-License-Identifier: Apache-2.0
// Data as a receiver finds them: written by another core just now.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <thread>

#include "weir/base/data.hpp"

namespace weir::app {

/// Keeps the calling thread on one logical processor.
inline void stay_on(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(cpu), &set);
    ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);  // refused: the figures are noisier
}

/// A thread on another core that writes events, as the one that receives them does in a recorder.
class OtherCore {
public:
    explicit OtherCore(int cpu)
        : thread_([this, cpu](const std::stop_token& stop) {
              stay_on(cpu);
              // It sleeps between two events: with two cores it has the one of the worker.
              for (std::uint64_t done = 0;; done_.notify_one()) {
                  asked_.wait(done, std::memory_order_acquire);
                  const auto asked = asked_.load(std::memory_order_acquire);
                  if (stop.stop_requested()) return;
                  for (auto& byte : data_) byte = static_cast<std::byte>(std::to_integer<unsigned>(byte) + 1);
                  done = asked;
                  done_.store(done, std::memory_order_release);
              }
          }) {}

    ~OtherCore() {
        thread_.request_stop();
        asked_.fetch_add(1, std::memory_order_release);
        asked_.notify_one();
    }

    /// Returns when the data has been written there.
    void write(MutableData data) {
        data_ = data;
        const auto wanted = asked_.load(std::memory_order_relaxed) + 1;
        asked_.store(wanted, std::memory_order_release);
        asked_.notify_one();
        for (auto done = done_.load(std::memory_order_acquire); done != wanted;
             done = done_.load(std::memory_order_acquire))
            done_.wait(done, std::memory_order_acquire);
    }

private:
    MutableData data_;
    std::atomic<std::uint64_t> asked_{0}, done_{0};
    std::jthread thread_;
};

}  // namespace weir::app
