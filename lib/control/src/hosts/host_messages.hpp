// SPDX-License-Identifier: Apache-2.0
// What run control and the agent of a machine say to each other, as JSON. docs/formats/host-protocol.md.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.hpp"
#include "weir/control/launcher.hpp"
#include "weir/control/log_book.hpp"
#include "weir/json/parse.hpp"
#include "weir/service/control_messages.hpp"

namespace weir::control {

/// A run control, as agents know it. Of two, the one with the higher epoch commands.
struct Commander {
    std::uint64_t epoch = 0;
    std::string name{};      // "ctl:/data/run7 (pid 4711)"
    bool take_over = false;  // also from one that still speaks
};

[[nodiscard]] boost::json::object json_of(const Commander& commander);
/// Field "commander" of a request.
[[nodiscard]] Commander read_commander(const boost::json::value& document, json::Fields& fields);

/// A process that shall be there. Generations grow with every launch, of all run controls of a partition.
struct ProcessOrder {
    Commander commander{};
    std::string name{};
    std::uint64_t generation = 0;
    std::vector<std::string> arguments{};  // "weir" first, for which the agent's own program stands
    std::string partition{};               // text of the partition file
};

/// Asks how all is, and says what shall be.
struct HostPoll {
    Commander commander{};
    std::uint64_t number = 0;
    std::uint64_t log_after = 0;        // lines of logs that are known
    std::uint64_t generation_last = 0;  // what is not kept, up to this one, ends
    std::set<std::uint64_t> kept{};
    bool last = false;  // run control ends: an agent that an engine has started ends, too
    // Where another agent may be at the address: one of another name, or of another instance, refuses with 421.
    std::string machine{};   // empty: any
    std::string instance{};  // empty: any
};
inline constexpr unsigned misdirected = 421;

struct EndOrder {
    Commander commander{};
    std::uint64_t generation = 0;
    bool kill = false;  // else SIGTERM
};

/// A process as its agent sees it.
struct HostedStatus {
    std::string name{};
    std::uint64_t generation = 0;
    std::int64_t pid = 0;
    std::optional<std::string> announcement{};
    std::optional<ProcessEnd> end{};
    std::optional<std::uint64_t> asked_in{};  // the poll in which the station was asked for the report
    std::optional<service::StationReport> report{};
    std::shared_ptr<const boost::json::object> report_json{};  // the same, of who sends it
};

struct HostReport {
    std::string host{};
    std::string weir{};      // its version
    std::string instance{};  // of the agent: another one has none of the processes that this one had
    std::optional<Commander> commander{};
    double commander_silent = 0;  // seconds
    std::vector<HostedStatus> processes{};
    std::uint64_t log_last = 0;
    std::vector<LogLine> log{};  // what is new, the oldest first
};

[[nodiscard]] std::string to_json(const ProcessOrder& order);
[[nodiscard]] std::string to_json(const HostPoll& poll);
[[nodiscard]] std::string to_json(const EndOrder& order);
[[nodiscard]] std::string to_json(const HostReport& report);

[[nodiscard]] Result<ProcessOrder> parse_process_order(std::string_view text);
[[nodiscard]] Result<HostPoll> parse_host_poll(std::string_view text);
[[nodiscard]] Result<EndOrder> parse_end_order(std::string_view text);
[[nodiscard]] Result<HostReport> parse_host_report(std::string_view text);

}  // namespace weir::control
