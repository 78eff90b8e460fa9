// SPDX-License-Identifier: Apache-2.0
// A thread that steps: what is called takes its time from a clock and never waits for it, so tests call it themselves;
// only how long the thread rests in between is real time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "weir/base/named_thread.hpp"

namespace weir::recorder {

/// Calls `step` after each `interval` until its stop is requested.
[[nodiscard]] inline std::jthread stepping_thread(std::string name, std::chrono::milliseconds interval,
                                                  std::function<void()> step) {
    return named_jthread(std::move(name), [interval, step = std::move(step)](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any never;
        std::unique_lock lock(mutex);
        while (!never.wait_for(lock, stop, interval, [&] { return stop.stop_requested(); })) step();
    });
}

}  // namespace weir::recorder
