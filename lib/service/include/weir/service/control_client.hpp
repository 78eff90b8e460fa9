// SPDX-License-Identifier: Apache-2.0
// Asks a station, or run control, over its control port: one request, one answer, one connection, within a deadline.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "weir/base/bytes.hpp"
#include "weir/base/result.hpp"
#include "weir/service/control_messages.hpp"
#include "weir/transport/tls.hpp"

namespace weir::service {

struct ControlAnswer {
    unsigned status = 0;  // of HTTP
    std::string body;
    std::string content_type{};

    [[nodiscard]] bool good() const noexcept { return status >= 200 && status < 300; }
    /// The text of {"error":...}; else the status and the beginning of the body.
    [[nodiscard]] std::string error() const;
};

struct ControlTls {
    transport::TlsContext context;
    bool own = false;  // we are of the partition, and who answers must be: our own key, or the unit weir-station, at
                       // whatever address
    /// Decides after the handshake of TlsContext::for_stranger() whether who answers is believed; called before
    /// anything is sent.
    std::function<Result<>(const ssl_st*)> believe{};
};

/// Of the ids in StationEvents that are read: a station has a limit of its own for them, and ours may not be the lower
/// one.
inline constexpr Bytes events_memory_max{4ULL << 30};

/// The answer of a station to a transition or the like. Error: refused, limit, usage, as ControlClient::request() has
/// them.
[[nodiscard]] Result<StationState> station_state(const ControlAnswer& answer, const std::string& address);

/// How long the answer to a request of a station may take, before it is waited for no longer.
[[nodiscard]] std::chrono::milliseconds answer_deadline(const StationRequest& request);

/// Sends requests to one address: "127.0.0.1:41234", "localhost:9100", "[::1]:9100", or, of a station that is reached
/// through the agent of its machine, "10.77.0.11:7400/stations/ros-1". Any thread; calls wait up to their
/// deadline. With `tls`, who answers must show a certificate of our authority, made out for the address; on an address
/// of this machine for any name, since certificates are rarely made out for those.
class ControlClient {
public:
    explicit ControlClient(std::string address, Bytes answer_max = Bytes{128U << 20},
                           std::optional<ControlTls> tls = {})
        : address_(std::move(address)), answer_max_(answer_max), tls_(std::move(tls)) {}

    [[nodiscard]] const std::string& address() const noexcept { return address_; }

    /// Error: it does not answer (io), or not in time (limit). Any HTTP status is an answer.
    [[nodiscard]] Result<ControlAnswer> get(const std::string& path,
                                            std::chrono::milliseconds deadline = std::chrono::seconds{5}) const;
    [[nodiscard]] Result<ControlAnswer> post(const std::string& path, const std::string& json,
                                             std::chrono::milliseconds deadline = std::chrono::seconds{5}) const;

    /// GET /status of a station.
    [[nodiscard]] Result<StationReport> status(std::chrono::milliseconds deadline = std::chrono::seconds{5}) const;

    /// GET /events of a station.
    [[nodiscard]] Result<StationEvents> events(std::chrono::milliseconds deadline) const;

    /// POST /transition; waits for its end. Error: refused (409), limit (its deadline passed, it may go on), usage (the
    /// request), io (the station is gone).
    [[nodiscard]] Result<StationState> request(const StationRequest& request) const;

private:
    [[nodiscard]] Result<ControlAnswer> ask(bool post, const std::string& path, const std::string& body,
                                            std::chrono::milliseconds deadline) const;
    std::string address_;
    Bytes answer_max_;
    std::optional<ControlTls> tls_;
};

}  // namespace weir::service
