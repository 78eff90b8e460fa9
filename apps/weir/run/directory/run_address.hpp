// SPDX-License-Identifier: Apache-2.0
// Which run control a command speaks with: the one that works in a directory, or one by its address, and with which
// certificate.
#pragma once

#include <CLI/App.hpp>

#include <filesystem>
#include <optional>
#include <string>

#include "weir/base/result.hpp"
#include "weir/service/control_client.hpp"
#include "weir/transport/tls.hpp"

namespace weir::app {

struct RunAddressOptions {
    std::filesystem::path directory{"weir-run"};
    std::string at{};  // of run control, when it is not to be found by its directory
    transport::TlsFiles tls{};
};

/// --dir; and --at and --tls-..., in the group `more`.
void declare_run_address(CLI::App& command, RunAddressOptions& options);

struct RunAddress {
    std::string address;
    std::optional<service::ControlTls> tls{};  // for its stations too
};

/// As typed, else as its directory says, with the certificates that are named there. Errc::refused: none runs there;
/// Errc::usage: another machine without certificates.
[[nodiscard]] Result<RunAddress> find_run(const RunAddressOptions& options);

}  // namespace weir::app
