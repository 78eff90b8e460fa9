// SPDX-License-Identifier: Apache-2.0
// The messages of run control and a station over the control port, as values, and their JSON. The schema is
// promised in docs/formats/control-protocol.md; requests with unknown fields are refused, answers with them are read.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/service/reports.hpp"
#include "weir/service/station.hpp"
#include "weir/wire/peer.hpp"

namespace boost::json {
class value;
}

namespace weir::service {

inline constexpr std::size_t peers_max = 10'000;
inline constexpr std::size_t sources_max = 65'536;  // of one readout
inline constexpr std::size_t masks_max = 65'536;    // changes of masks in a run

/// What a station can be asked to do: a transition, to take changed peers, or to end.
enum class StationRequestKind { transition, change_peers, mask, exit };

struct StationRequest {
    StationRequestKind kind = StationRequestKind::transition;
    Transition transition = Transition::configure;
    std::optional<RunNumber> run{};                       // start
    std::optional<std::chrono::milliseconds> deadline{};  // nothing: the station's own
    std::vector<Peer> peers{};                            // connect, change_peers
    std::vector<SourceMask> masks{};                      // start, mask: all that there are
    bool again = false;                                   // start: another process of this station was in this run

    bool operator==(const StationRequest&) const = default;
};

/// "start", ..., "change_peers", "mask", "exit".
[[nodiscard]] const char* name(const StationRequest& request) noexcept;

/// Everything in /status.
struct StationReport {
    std::string station;
    StationKind kind = StationKind::readout;
    wire::StationId id{};
    std::uint64_t pid = 0;
    StationState state = StationState::initial;
    std::optional<RunNumber> run{};
    struct UnderWay {
        std::string name;
        std::chrono::duration<double> since{0};
    };
    std::optional<UnderWay> transition{};
    std::optional<std::string> error{};  // of the latest transition that failed; a later one that goes well ends it
    StationStatus status{};
    struct LatchedAlarm {
        std::string name, text, severity;
        std::uint64_t raised = 1;
        std::optional<std::string> acknowledged_by{};
        double first = 0, last = 0;  // seconds since 1970 by the station's clock; 0: not known
    };
    std::vector<LatchedAlarm> alarms{};
    std::optional<Peer> self{};  // known once it is configured
    std::shared_ptr<const StationEvents>
        events{};  // GET /events, where they were requested; never changed, so that the requests share them
};

[[nodiscard]] std::string to_json(const StationRequest& request);
[[nodiscard]] std::string to_json(const StationReport& report);

[[nodiscard]] Result<StationRequest> parse_station_request(std::string_view json);
[[nodiscard]] Result<StationReport> parse_station_report(std::string_view json);
/// The same, of a document that is parsed.
[[nodiscard]] Result<StationReport> read_station_report(const boost::json::value& document);

/// One alarm as /status and /alarms show it.
[[nodiscard]] StationReport::LatchedAlarm latched_alarm(const Alarm& alarm);

}  // namespace weir::service
