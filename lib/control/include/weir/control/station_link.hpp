// SPDX-License-Identifier: Apache-2.0
// Run control's end of a station's control port. Nothing here waits: a call is begun, and its answer is there one day.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/service/station.hpp"

namespace weir::control {

struct StationCall {
    std::string transition{};              // a Transition's name, or "change_peers"
    RunNumber run{};                       // of "start"
    std::chrono::milliseconds deadline{};  // for the station
    std::vector<Peer> peers{};             // of "connect" and "change_peers"
};

/// What a station says of itself.
struct StationReport {
    StationState state = StationState::initial;
    RunNumber run{};
    StationStatus status{};
    std::optional<std::string> error{};
    std::vector<std::string> alarms{};     // latched, one line each
    std::optional<Peer> self{};            // from `configured` on
};

struct CallFailure {
    bool answered = false;  // it said no; else it said nothing
    std::string why{};
};

/// One thread uses it. Its end gives up what is under way.
class StationLink {
public:
    virtual ~StationLink() = default;
    /// One call at a time.
    virtual void call(const StationCall& call) = 0;
    /// The answer to the call, once.
    [[nodiscard]] virtual std::optional<std::expected<void, CallFailure>> answer() = 0;
    /// Asks for a report, beside a call; one at a time.
    virtual void ask() = 0;
    /// The answer to ask(), once.
    [[nodiscard]] virtual std::optional<Result<StationReport>> report() = 0;
};

class StationLinks {
public:
    virtual ~StationLinks() = default;
    /// `address`: of the control port, "127.0.0.1:41234".
    [[nodiscard]] virtual std::unique_ptr<StationLink> open(const std::string& address) = 0;
};

}  // namespace weir::control
