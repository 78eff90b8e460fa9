// SPDX-License-Identifier: Apache-2.0
// A second port of run control, on which its page is looked at: by whoever has the token, and nothing is changed there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "weir/service/http_server.hpp"

namespace weir::app {

class ViewPort {
public:
    /// Of `routes` those that change nothing. `directory`: of run control, which keeps the token. With `access` over
    /// TLS, and no certificate is asked for.
    [[nodiscard]] static Result<ViewPort> start(const std::string& listen, const std::filesystem::path& directory,
                                                const std::vector<service::HttpRoute>& routes,
                                                const std::optional<service::ControlAccess>& access,
                                                const std::function<void(const service::HttpRefusal&)>& refused);

    /// "http://daq-machine:9401/?token=4f1c...": what a person opens; without the token where stderr is no terminal.
    [[nodiscard]] const std::string& address() const noexcept { return address_; }

private:
    ViewPort(service::HttpServer server, std::string address)
        : server_(std::move(server)), address_(std::move(address)) {}
    service::HttpServer server_;
    std::string address_;
};

}  // namespace weir::app
