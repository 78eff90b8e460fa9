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

    [[nodiscard]] bool good() const noexcept { return status >= 200 && status < 300; }
    /// The text of {"error":...}; else the status and the beginning of the body.
    [[nodiscard]] std::string error() const;
};

struct ControlTls {
    transport::TlsContext context;
    bool own = false;  // we are of the partition: who answers must have our own key, at whatever address
    /// Decides after the handshake of TlsContext::for_stranger() whether who answers is believed; called before
    /// anything is sent.
    std::function<Result<>(const ssl_st*)> believe{};
};

/// Sends requests to one address: "127.0.0.1:41234", "localhost:9100", "[::1]:9100". Any thread; calls wait up to their
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
    /// request), io (the station is gone). `deadline` of the request plus some time to answer is waited.
    [[nodiscard]] Result<StationState> request(const StationRequest& request,
                                               std::chrono::milliseconds patience = std::chrono::seconds{2}) const;

private:
    [[nodiscard]] Result<ControlAnswer> ask(bool post, const std::string& path, const std::string& body,
                                            std::chrono::milliseconds deadline) const;
    std::string address_;
    Bytes answer_max_;
    std::optional<ControlTls> tls_;
};

}  // namespace weir::service
