// SPDX-License-Identifier: Apache-2.0
// Links to real stations: HTTP on their control ports.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "weir/control/station_link.hpp"
#include "weir/service/control_calls.hpp"

namespace weir::control {

class HttpLinks final : public StationLinks {
public:
    /// `calls` outlive this, and their links, and so do `events`, for which events of a run, which may take seconds to
    /// read, hold up no report of another station. `report_deadline`: how long a report is waited for. `query`: goes
    /// with each call, "?epoch=7".
    HttpLinks(service::ControlCalls& calls, service::ControlCalls& events,
              std::chrono::milliseconds report_deadline = std::chrono::seconds{2}, std::string query = {})
        : calls_(calls), events_(events), report_deadline_(report_deadline), query_(std::move(query)) {}

    [[nodiscard]] std::unique_ptr<StationLink> open(const std::string& address) override;

private:
    service::ControlCalls& calls_;
    service::ControlCalls& events_;
    const std::chrono::milliseconds report_deadline_;
    const std::string query_;
};

}  // namespace weir::control
