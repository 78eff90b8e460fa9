// SPDX-License-Identifier: Apache-2.0
// When the disks will be full, at the rate of the last minutes.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

#include "weir/base/bytes.hpp"
#include "weir/base/clock.hpp"

namespace weir::recorder {

/// One thread.
class SpaceForecast {
public:
    static constexpr std::chrono::seconds sample_interval{2}, window{180};

    explicit SpaceForecast(SteadyTime now) : samples_{{now, 0}} {}

    /// Whether it is time for another sample.
    [[nodiscard]] bool due(SteadyTime now) const { return now - samples_.back().at >= sample_interval; }

    struct Forecast {
        Bytes rate;                                      // a second
        std::optional<std::chrono::seconds> until_full;  // nothing: nothing is written
    };
    /// `stored`: since the beginning. `usable`: what may still be filled.
    [[nodiscard]] Forecast add(SteadyTime now, std::uint64_t stored, Bytes usable);

private:
    struct Sample {
        SteadyTime at;
        std::uint64_t stored;
    };
    std::deque<Sample> samples_;  // those of the window, and one before
};

}  // namespace weir::recorder
