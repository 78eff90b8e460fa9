// SPDX-License-Identifier: Apache-2.0
// Links to real stations: HTTP on their control ports.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "weir/control/station_link.hpp"
#include "weir/service/control_calls.hpp"
#include "weir/service/control_messages.hpp"

namespace weir::control {

/// The text of the request that was written last: all stations of a partition get the same peers at a connect, 200 kB
/// for 1,000 of them, and it is written once. One thread.
class RequestText {
public:
    /// Valid until the next call.
    [[nodiscard]] const std::string& of(const service::StationRequest& request);

private:
    service::StationRequest request_{};
    std::string text_;  // empty: none was written
};

/// One thread, and so for the calls of its links.
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
    const std::shared_ptr<RequestText> text_ = std::make_shared<RequestText>();  // of all links, which may live longer
};

}  // namespace weir::control
