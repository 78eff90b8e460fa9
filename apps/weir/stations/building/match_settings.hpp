// SPDX-License-Identifier: Apache-2.0
// How a readout finds the events of fragments from outside: by the level-1 id that they bring, or by their time.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "weir/base/result.hpp"
#include "weir/readout/time_matching.hpp"
#include "weir/service/configuration.hpp"

namespace weir::app {

class MatchSettings {
public:
    void declare(service::Settings& settings, const std::string& section);
    /// Nothing: by the level-1 id alone. Errc::usage: keys of the matching by time without it, or that contradict each
    /// other.
    /// `tls`: for the recorder of what fits no trigger.
    [[nodiscard]] Result<std::optional<readout::TimeMatching>> matching(const transport::TlsFiles& tls) const;

private:
    std::string match_ = "level1";
    std::chrono::nanoseconds settle_ = readout::TimeMatching{}.settle;
    std::chrono::nanoseconds wait_ = readout::TimeMatching{}.unlocked_after;
    std::chrono::nanoseconds offset_max_{0};
    std::string unmatched_;
    Bytes memory_ = readout::TimeMatching{}.memory;
};

}  // namespace weir::app
