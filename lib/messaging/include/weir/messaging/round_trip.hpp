// SPDX-License-Identifier: Apache-2.0
// How long to wait for an acknowledgement before sending again: RFC 6298's smoothed round trip and its variation,
// without its minimum of a second, which is for the internet. Samples of messages that were sent more than once are not
// given to it (Karn).
#pragma once

#include <algorithm>
#include <chrono>

namespace weir::messaging {

class RoundTrip {
public:
    void sample(std::chrono::nanoseconds measured) noexcept {
        if (smoothed_.count() == 0) {
            smoothed_ = measured;
            variation_ = measured / 2;
            return;
        }
        const auto off = std::chrono::abs(smoothed_ - measured);
        variation_ += (off - variation_) / 4;
        smoothed_ += (measured - smoothed_) / 8;
    }

    /// After `tries` times without an answer.
    [[nodiscard]] std::chrono::nanoseconds wait(unsigned tries, std::chrono::nanoseconds least,
                                                std::chrono::nanoseconds most) const noexcept {
        const auto once = smoothed_.count() == 0 ? std::chrono::nanoseconds(first_wait) : smoothed_ + 4 * variation_;
        const auto bounded = std::clamp(once, least, most);
        return std::min(bounded * (1 << std::min(tries, 10U)), most);
    }

    [[nodiscard]] std::chrono::nanoseconds smoothed() const noexcept { return smoothed_; }

private:
    static constexpr std::chrono::milliseconds first_wait{20};  // before anything was measured
    std::chrono::nanoseconds smoothed_{0}, variation_{0};
};

}  // namespace weir::messaging
