// SPDX-License-Identifier: Apache-2.0
// Links to real stations: HTTP on their control ports.
#pragma once

#include <chrono>

#include "weir/control/station_link.hpp"
#include "weir/service/control_calls.hpp"

namespace weir::control {

class HttpLinks final : public StationLinks {
public:
    /// `calls` outlive this, and their links. `report_deadline`: how long a report is waited for.
    explicit HttpLinks(service::ControlCalls& calls,
                       std::chrono::milliseconds report_deadline = std::chrono::seconds{2})
        : calls_(calls), report_deadline_(report_deadline) {}

    [[nodiscard]] std::unique_ptr<StationLink> open(const std::string& address) override;

private:
    service::ControlCalls& calls_;
    const std::chrono::milliseconds report_deadline_;
};

}  // namespace weir::control
