// SPDX-License-Identifier: Apache-2.0
// Collects the fragments that a selection needs from the readouts that hold them, for many events at once. It requests,
// re-requests after a time that follows the measured round trips, and re-requests a little later what is not there yet.
// At a time limit the selection gets the event with the fragment missing.
//
// Logic only: messages and time come in, requests go out through a MessageSender. One thread makes all calls.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/messaging/messages.hpp"
#include "weir/messaging/round_trip.hpp"
#include "weir/selection/selection.hpp"
#include "weir/wire/dataflow.hpp"
#include "weir/wire/peer.hpp"

namespace weir::selection {

struct CollectorOptions {
    std::chrono::milliseconds time_limit{2000};  // for the data of one event, and of each further request for it
    std::chrono::microseconds reask_min{2000};
    std::chrono::microseconds reask_max{500'000};
    std::chrono::microseconds not_yet_wait{500};  // before the first repetition; doubles up to reask_max
};

/// An event with the fragments that were asked for, in that order.
struct CollectedEvent {
    std::uint64_t request = 0;  // as begin() answered
    wire::EventTicket ticket{};
    std::vector<Fragment> fragments{};  // lie in `memory`
    std::vector<std::vector<std::byte>> memory{};
    std::uint32_t missing = 0;
};

class DataCollector {
public:
    struct Counts {
        std::uint64_t begun = 0;  // collections: = complete + incomplete + discarded + in hand
        std::uint64_t complete = 0, incomplete = 0, discarded = 0, in_hand = 0;
        std::uint64_t requests = 0, re_requested = 0, not_yet = 0;
        std::uint64_t fragments = 0, bytes = 0;
        std::uint64_t missing_late = 0;        // fragments that did not come within the limit
        std::uint64_t missing_gone = 0;        // cleared, lost, or unknown to its readout
        std::uint64_t missing_no_readout = 0;  // no readout of the partition has such a ROB
        std::uint64_t late_or_double = 0, malformed = 0;
    };

    DataCollector(const CollectorOptions& options, messaging::MessageSender& messages)
        : options_(options), messages_(messages) {}

    void set_readouts(const std::vector<Peer>& peers);

    /// Asks for the ROBs of an event, each once. May be called several times for an event. Answers the request, no
    /// other has that number.
    std::uint64_t begin(wire::EventTicket ticket, const std::vector<SourceId>& robs, SteadyTime now);
    /// Discards all collections in hand.
    void discard_all();

    void on_data(const messaging::IncomingMessage& message, SteadyTime now);
    /// A readout is reachable again: re-requests at once what it has not answered.
    void on_peer(wire::StationId peer, messaging::PeerChange change, SteadyTime now);
    [[nodiscard]] std::optional<SteadyTime> step(SteadyTime now);

    /// An event whose data are there, or will not come.
    [[nodiscard]] std::unique_ptr<CollectedEvent> take_ready();

    [[nodiscard]] Counts counts() const;
    [[nodiscard]] std::chrono::nanoseconds round_trip() const;  // of the slowest readout

private:
    struct Part {  // of one readout
        wire::StationId readout{};
        std::vector<std::uint32_t> wanted{};  // positions of the fragments that are not settled
        SteadyTime asked{};
        std::uint32_t tries = 0;    // repetitions for want of an answer
        std::uint32_t not_yet = 0;  // answers with this state
        bool resting = false;       // it answered "not yet"
        std::uint32_t stamp = 0;    // of the timer that counts
    };
    struct Collection {
        std::unique_ptr<CollectedEvent> event;
        std::vector<Part> parts{};
        SteadyTime until{};
        std::uint32_t settled = 0;
    };
    struct Timer {
        SteadyTime at{};
        std::uint64_t request = 0;
        std::uint32_t part = 0, stamp = 0;  // part: every_part for the time limit
        bool operator>(const Timer& other) const noexcept { return at > other.at; }
    };
    static constexpr std::uint32_t every_part = ~0U;

    void ask(std::uint64_t request, Collection& collection, std::uint32_t part, SteadyTime now);
    void arm(std::uint64_t request, Part& part, std::uint32_t index, SteadyTime at);
    void settle_missing(Collection& collection, std::uint32_t fragment, std::uint64_t& counter);
    void finish_if_settled(std::uint64_t request);
    void due(const Timer& timer, SteadyTime now);

    const CollectorOptions options_;
    messaging::MessageSender& messages_;
    std::unordered_map<std::uint32_t, wire::StationId> holder_;  // by source
    std::map<wire::StationId, messaging::RoundTrip> trips_;
    std::unordered_map<std::uint64_t, Collection> collections_;  // by request
    std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
    std::deque<std::unique_ptr<CollectedEvent>> ready_;
    std::uint64_t next_request_ = 1;
    Counts counts_;
    wire::DataView data_;
    wire::DataRequest request_;
    std::vector<std::byte> buffer_;
};

}  // namespace weir::selection
