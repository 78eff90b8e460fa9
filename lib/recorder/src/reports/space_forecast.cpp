// SPDX-License-Identifier: Apache-2.0
#include "reports/space_forecast.hpp"

#include <algorithm>

namespace weir::recorder {

SpaceForecast::Forecast SpaceForecast::add(SteadyTime now, std::uint64_t stored, Bytes usable) {
    constexpr double longest_s = 1e9;
    samples_.push_back({now, stored});
    while (samples_.size() > 2 && now - samples_[1].at >= window) samples_.pop_front();
    const auto& first = samples_.front();
    const auto seconds = std::chrono::duration<double>(now - first.at).count();
    const auto rate = seconds > 0 ? static_cast<double>(stored - first.stored) / seconds : 0;
    Forecast forecast{.rate = Bytes{static_cast<std::uint64_t>(rate)}, .until_full = std::nullopt};
    if (rate > 0) {
        const auto until = std::min(static_cast<double>(usable.count()) / rate, longest_s);
        forecast.until_full = std::chrono::seconds(static_cast<std::int64_t>(until));
    }
    return forecast;
}

}  // namespace weir::recorder
