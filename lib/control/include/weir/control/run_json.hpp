// SPDX-License-Identifier: Apache-2.0
// A partition and its runs as JSON: docs/formats/run-control-protocol.md.
#pragma once

#include <boost/json/object.hpp>

#include "weir/control/host_launcher.hpp"
#include "weir/control/log_book.hpp"
#include "weir/control/run_control.hpp"
#include "weir/control/run_result.hpp"

namespace weir::control {

[[nodiscard]] boost::json::object to_json(const service::StationLedger& ledger);
[[nodiscard]] boost::json::object to_json(const RunEvents& events);
[[nodiscard]] boost::json::object to_json(const RunSource& source);
[[nodiscard]] boost::json::object to_json(const RunResult& result);
[[nodiscard]] boost::json::object to_json(const Partition& partition, const PartitionView& view);
[[nodiscard]] boost::json::object to_json(const HostView& host);
[[nodiscard]] boost::json::object to_json(const LogLine& line);

/// {"command":"start","comment":"...","parameters":{"beam":"on"}}
struct RunCommand {
    enum class Kind { start, stop, pause, resume, exit, replace, mask, unmask, apply } kind = Kind::start;
    RunRequest request{};   // start
    std::string reason{};   // stop, exit
    std::string station{};  // replace
    SourceId source{};      // mask, unmask
    std::string person{};   // mask, unmask
    std::string lease{};    // the secret of who is in control
    std::string word{};     // "start"
};
[[nodiscard]] Result<RunCommand> parse_run_command(std::string_view json);

}  // namespace weir::control
