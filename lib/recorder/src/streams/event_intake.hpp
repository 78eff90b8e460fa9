// SPDX-License-Identifier: Apache-2.0
// The first half of an event's way: it is checked, given to its streams, and each copy gets its place in a file and is
// copied there. What becomes of it then is the settlement's.
//
//     take() -> check() -> Settlement::begin() -> place_copies()   modes receipt and off
//                                              -> queue_copies()   modes original and parallel: a thread a stream
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "settlement/settlement.hpp"
#include "streams/event_copier.hpp"
#include "streams/stream_set.hpp"
#include "weir/base/clock.hpp"
#include "weir/delivery/event_sink.hpp"
#include "weir/recorder/recorder_options.hpp"
#include "weir/recorder/segment_pool.hpp"

namespace weir::recorder {

/// Any thread. take() does not wait, but for two things: in the modes original and parallel for a place in the queue of
/// a stream's thread, which may wait for memory; in the others, when an event begins a file, for the disk and the
/// catalogue. There an event that finds no memory is not taken, and is tried again.
class EventIntake {
public:
    /// All that is passed outlives it, and so do the threads of the streams.
    EventIntake(const RecorderOptions& options, StreamSet& streams, Settlement& settlement, SegmentPool& segments,
                checksum::Stores stores, const Clock& clock);

    /// As of delivery::EventSink.
    [[nodiscard]] delivery::Taken take(delivery::IncomingEvent& event);
    void not_passed_on(delivery::SessionId session, const wire::EventMeta& event, wire::RejectReason reason,
                       delivery::CreditHold& credit);

    /// Whether an event found no file since the last call: it is to be tried again.
    [[nodiscard]] bool take_waits_for_file() noexcept { return waits_for_file_.exchange(false); }
    /// When streams' threads do not wait for memory any more. The senders keep those events.
    void stop_waiting_at(SteadyTime time) noexcept {
        wait_until_.store(time.time_since_epoch().count(), std::memory_order_relaxed);
    }

private:
    using Streams = std::vector<StreamSet::Entry*>;
    struct Rejection {
        wire::RejectReason reason;
        std::string text;
    };
    /// A taken event that waits for the threads of its streams.
    struct EventInHand {
        delivery::IncomingEvent event;
        std::shared_ptr<Ticket> ticket;
    };
    enum class Placed { yes, full, late };

    [[nodiscard]] std::optional<Rejection> check(const delivery::IncomingEvent& event, Streams& streams);
    [[nodiscard]] delivery::Taken place_copies(delivery::IncomingEvent& event, const Streams& streams,
                                               Settlement::Taking taking);
    void queue_copies(delivery::IncomingEvent event, const Streams& streams, const Settlement::Taking& taking);
    void place_waiting(Stream& stream, EventInHand& in_hand, std::uint16_t copy,
                       const datafile::EarlierStreams& earlier);
    [[nodiscard]] Placed place(Stream& stream, const delivery::IncomingEvent& event,
                               const std::shared_ptr<Ticket>& ticket, std::uint16_t copy,
                               datafile::EarlierStreams earlier);

    const RecorderOptions& options_;
    StreamSet& streams_;
    Settlement& settlement_;
    SegmentPool& segments_;
    const EventCopier copier_;
    const Clock& clock_;
    std::atomic<bool> waits_for_file_{false};
    std::atomic<SteadyTime::rep> wait_until_{std::numeric_limits<SteadyTime::rep>::max()};
};

}  // namespace weir::recorder
