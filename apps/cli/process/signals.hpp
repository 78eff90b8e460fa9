// SPDX-License-Identifier: Apache-2.0
// SIGTERM and SIGINT as something to wait for. Made before any thread, so that every thread blocks them.
#pragma once

#include <chrono>

namespace weir::app {

class Signals {
public:
    Signals();
    ~Signals();
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    /// True when one has come; false when the time is over.
    [[nodiscard]] bool wait(std::chrono::nanoseconds at_most);

    /// The same, and the signal stays pending: other threads see it too, and unblocked it does what it does. Any thread
    /// in which it is blocked.
    [[nodiscard]] static bool pending(std::chrono::nanoseconds at_most) noexcept;
};

}  // namespace weir::app
