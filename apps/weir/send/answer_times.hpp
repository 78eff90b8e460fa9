// SPDX-License-Identifier: Apache-2.0
// How long events wait for their answers: counted in classes of 3 % width, so that a billion of them need no more
// memory than one.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace weir::app {

/// Any thread.
class AnswerTimes {
public:
    void add(std::chrono::nanoseconds time) noexcept;

    [[nodiscard]] std::uint64_t count() const noexcept;
    /// The time that this share (0 to 1) of the answers did not exceed, to 3 %; 0 when there was none.
    [[nodiscard]] std::chrono::nanoseconds quantile(double share) const noexcept;
    /// Exact.
    [[nodiscard]] std::chrono::nanoseconds longest() const noexcept;

private:
    static constexpr unsigned steps_bits = 5;  // classes in each power of two
    static constexpr std::size_t classes = (64 - steps_bits) << steps_bits;

    std::array<std::atomic<std::uint64_t>, classes> counts_{};  // relaxed: only the numbers count
    std::atomic<std::int64_t> longest_{0};
};

}  // namespace weir::app
