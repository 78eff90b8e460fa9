// SPDX-License-Identifier: Apache-2.0
// Links to real stations: HTTP on their control ports. Each link has two threads, which wait for answers: one for
// calls, which may take long, and one for reports.
#pragma once

#include <chrono>

#include "weir/control/station_link.hpp"

namespace weir::control {

class HttpLinks final : public StationLinks {
public:
    /// How long a report is waited for.
    explicit HttpLinks(std::chrono::milliseconds report_deadline = std::chrono::seconds{2})
        : report_deadline_(report_deadline) {}

    [[nodiscard]] std::unique_ptr<StationLink> open(const std::string& address) override;

private:
    const std::chrono::milliseconds report_deadline_;
};

}  // namespace weir::control
