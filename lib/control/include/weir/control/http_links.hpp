// SPDX-License-Identifier: Apache-2.0
// Links to real stations: HTTP on their control ports. Each link has two threads, which wait for answers: one for
// calls, which may take long, and one for reports.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "weir/control/station_link.hpp"
#include "weir/service/control_client.hpp"

namespace weir::control {

class HttpLinks final : public StationLinks {
public:
    /// `tls`: what run control shows to stations whose control ports want it. `report_deadline`: how long a report is
    /// waited for.
    explicit HttpLinks(std::optional<service::ControlTls> tls = {},
                       std::chrono::milliseconds report_deadline = std::chrono::seconds{2})
        : tls_(std::move(tls)), report_deadline_(report_deadline) {}

    [[nodiscard]] std::unique_ptr<StationLink> open(const std::string& address) override;

private:
    const std::optional<service::ControlTls> tls_;
    const std::chrono::milliseconds report_deadline_;
};

}  // namespace weir::control
