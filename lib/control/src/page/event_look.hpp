// SPDX-License-Identifier: Apache-2.0
// Events for the page: asks a builder or filter for the next one of some kind, as weir tap does, describes it, and
// keeps its bytes for a while.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/control/run_control.hpp"
#include "weir/control/run_page.hpp"
#include "weir/service/control_calls.hpp"
#include "weir/service/http_server.hpp"

namespace weir::control {

/// Any thread.
class EventLook {
public:
    static constexpr std::size_t under_way_max = 8;
    static constexpr std::size_t kept_max = 64;  // events

    /// `kept_bytes_max`: of the events that are kept, together.
    EventLook(std::optional<service::ControlTls> tls, DescribeEvent describe, Bytes kept_bytes_max = Bytes{64U << 20})
        : tls_(std::move(tls)), describe_(std::move(describe)), kept_bytes_max_(kept_bytes_max) {}

    /// GET /event?station=NAME&... with the wishes of GET /tap. Without a station: filters in turn, or builders where
    /// there are none.
    void next(const std::vector<StationView>& stations, const service::HttpRequest& request,
              const service::HttpAnswer& answer);
    /// GET /event/N: the bytes of one that next() gave.
    [[nodiscard]] service::HttpResponse bytes(std::string_view id) const;

private:
    struct Kept {
        std::uint64_t id;
        std::string bytes;
    };
    [[nodiscard]] Result<StationView> chosen(const std::vector<StationView>& stations, std::string_view name);
    [[nodiscard]] service::HttpResponse described(const std::string& station, Result<service::ControlAnswer> got,
                                                  const service::HttpRequest& request);
    std::uint64_t keep(std::string bytes);

    const std::optional<service::ControlTls> tls_;
    const DescribeEvent describe_;
    const Bytes kept_bytes_max_;
    mutable std::mutex mutex_;
    std::deque<Kept> kept_;
    std::size_t kept_bytes_ = 0;
    std::uint64_t last_ = 0;
    std::size_t turn_ = 0;
    std::size_t under_way_ = 0;
    std::unique_ptr<service::ControlCalls> calls_;  // from the first look on; the last member: it ends first
};

}  // namespace weir::control
