// SPDX-License-Identifier: Apache-2.0
// D/run-control.json: where the run control of a directory answers, while it lives.
#pragma once

#include <filesystem>
#include <string>

#include "weir/base/result.hpp"
#include "weir/transport/tls.hpp"

namespace weir::app {

class RunPlace {
public:
    struct More {
        std::string join{};  // address of the port for joins; empty: there is none
        bool wait = false;   // runs begin by command
    };
    /// Writes the file; it goes when this goes.
    [[nodiscard]] static Result<RunPlace> announce(const std::filesystem::path& directory, const std::string& address,
                                                   const std::string& partition, const transport::TlsFiles& tls,
                                                   const More& more);
    RunPlace(RunPlace&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
    RunPlace& operator=(RunPlace&&) = delete;
    ~RunPlace();

    struct Found {
        std::string address;
        bool wait = false;          // runs begin by command
        transport::TlsFiles tls{};  // named: it wants a certificate; who may read these files commands with them
    };
    /// Errc::refused: none runs there.
    [[nodiscard]] static Result<Found> find(const std::filesystem::path& directory);

private:
    explicit RunPlace(std::filesystem::path path) : path_(std::move(path)) {}
    std::filesystem::path path_;
};

}  // namespace weir::app
