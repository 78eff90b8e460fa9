// SPDX-License-Identifier: Apache-2.0
// Serves /metrics over HTTP, on one thread of its own. Whoever connects is not trusted: connections,
// request sizes and times are limited, so that nobody can hold the thread or fill the memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "weir/base/result.hpp"
#include "weir/service/metrics.hpp"

namespace weir {

struct MetricsServerOptions {
    std::string listen = "127.0.0.1:0";   // address:port; port 0: the system chooses; "[::1]:9100" for IPv6
    std::uint32_t connections_max = 16;   // further ones are closed at once
    std::uint32_t request_size_max = 8192;
    std::uint32_t requests_max = 1000;    // over one connection
    std::chrono::milliseconds deadline{5000};  // for a request to arrive, and for an answer to leave
};

class MetricsServer {
public:
    /// Errc::usage: not an address; Errc::io: it cannot be listened to. `metrics` must outlive the server.
    [[nodiscard]] static Result<MetricsServer> start(const Metrics& metrics, const MetricsServerOptions& options = {});

    MetricsServer(MetricsServer&&) noexcept;
    MetricsServer& operator=(MetricsServer&&) noexcept;
    ~MetricsServer();  // closes every connection, then waits for the thread

    [[nodiscard]] std::uint16_t port() const noexcept;

private:
    class Server;
    explicit MetricsServer(std::unique_ptr<Server> server);
    std::unique_ptr<Server> server_;
};

}  // namespace weir
