// SPDX-License-Identifier: Apache-2.0
// The event filter (EF) of one run: whole events come in from builders, a selection decides on their streams, and
// accepted ones go on to a recorder. A builder is answered when the recorder has answered, so that an event that a
// builder releases is on stable storage, or was rejected for a named reason. Memory is the pool's: while recorders are
// away, events are kept and builders wait.
//
// Threads: receivers, workers, one sender thread for each recorder, and one that looks after the senders.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/report.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/delivery/receiver.hpp"
#include "weir/event/format.hpp"
#include "weir/selection/selector.hpp"
#include "weir/service/station.hpp"
#include "weir/transport/tls.hpp"
#include "weir/wire/peer.hpp"

namespace weir::selection {

struct FilterOptions {
    std::string name = "filter";  // its sender name at recorders
    event::Format format = event::Format::event_5_0;
    std::uint32_t workers = 4;
    std::uint32_t queue_max = 4096;       // events that wait for a worker; the pool bounds their bytes
    std::vector<StreamTag> tags{};        // of events whose selection names none, and that came with none
    bool stamp_tags = false;              // also into the event's header, where the format has tags
    Bytes recorder_window{256ULL << 20};  // sent to one recorder and not answered
    transport::TlsFiles recorder_tls{};   // when named: of the connections to recorders; builders' are the receiver's
    std::chrono::milliseconds move_after{
        60'000};  // a recorder that is away this long is lost: its events go to the others
    /// Sees each event that is accepted, and its streams, from workers; must not wait.
    std::function<void(ConstData, std::span<const StreamTag>)> sampled{};
    delivery::ReceiverOptions receiver{};
    const Clock* clock = &system_clock();  // outlives the filter, and the threads that it leaves behind
};

struct FilterStats {
    // received = stored + rejected + returned + in hand; rejected: not_selected, malformed_event, or the recorder's
    // reason
    std::uint64_t received = 0, stored = 0, returned = 0, in_hand = 0;
    std::array<std::uint64_t, wire::reject_reason_count> rejected{};
    std::uint64_t selected = 0, forced = 0, threw = 0, timed_out = 0, crashed = 0, worker_restarts = 0;
    std::uint64_t bytes = 0, queued = 0, at_recorders = 0, recorders_connected = 0;
    std::uint64_t moved = 0;     // given to another recorder than their own, which was lost
    std::uint64_t in_doubt = 0;  // of the events of lost recorders: marked as sent before, so perhaps stored twice
    std::uint64_t waits_for_recorder = 0;
    delivery::ReceiverStats receiver{};
};

class Filter {
public:
    /// Listens; nothing is taken before start(). The pool outlives the filter. `report` is called from any
    /// thread; a selection that fails on an event is an alarm.
    [[nodiscard]] static Result<std::unique_ptr<Filter>> open(FilterOptions options, memory::BufferPool& pool,
                                                              Reporter report);
    ~Filter();

    [[nodiscard]] std::uint16_t port() const noexcept;

    /// Events of this run only. Error: a recorder's address cannot be used.
    [[nodiscard]] Result<> start(RunNumber run, const Selection& selection, const std::vector<Peer>& peers);
    /// Recorders came, went, or have other addresses; events of those that are gone go to the others.
    [[nodiscard]] Result<> change_recorders(const std::vector<Peer>& peers);
    /// Takes no more, waits until every event that was taken is final, then ends. False: some were not final within the
    /// deadline; they are returned: they get no answer, and their builders still have them.
    bool stop(std::chrono::milliseconds deadline);
    /// After stop(): a selection hangs, and its threads have events that lie in the pool. The pool must then never be
    /// destroyed.
    [[nodiscard]] bool left_behind() const noexcept;

    /// Events whose selection has run for longer than this.
    [[nodiscard]] std::vector<GlobalEventId> stuck(std::chrono::nanoseconds longer_than) const;
    /// For how long the selection that was begun first has run; zero: none runs.
    [[nodiscard]] std::chrono::nanoseconds longest_selection() const;
    [[nodiscard]] FilterStats stats() const;

private:
    class Core;
    explicit Filter(std::unique_ptr<Core> core);
    std::unique_ptr<Core> core_;
};

}  // namespace weir::selection
