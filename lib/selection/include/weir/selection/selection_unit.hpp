// SPDX-License-Identifier: Apache-2.0
// A level-2 processing unit (L2PU), without its threads: takes events from the supervisor, collects the data that their
// selection looks at, hands complete ones to workers, and sends their decisions. While one event waits for its data,
// others are computed.
//
// Logic only: messages, time and the workers' judgements come in, messages and work go out. One thread makes all calls.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weir/base/report.hpp"
#include "weir/selection/data_collector.hpp"
#include "weir/selection/selector.hpp"
#include "weir/service/station.hpp"
#include "weir/wire/dataflow.hpp"

namespace weir::selection {

/// The input of a worker, which it returns with its judgement.
struct UnitTask {
    std::unique_ptr<CollectedEvent> data;
    std::uint64_t session = 0;  // of the supervisor that asked for it
};

/// A selection has requested further fragments of the event that a worker has.
struct UnitRequest {
    std::uint64_t id = 0;       // the worker's
    std::uint64_t session = 0;  // of its task
    wire::EventTicket ticket{};
    std::vector<SourceId> sources{};
};

/// Takes an event whose data are there. It answers later by SelectionUnit::judged(), in the unit's thread.
class UnitWorkers {
public:
    virtual ~UnitWorkers() = default;
    virtual void take(UnitTask task) = 0;
    /// The answer to SelectionUnit::requested(). Nothing: the event was discarded.
    virtual void take_requested(std::uint64_t id, std::unique_ptr<CollectedEvent> fragments) = 0;
};

struct UnitOptions {
    std::uint32_t workers = 4;
    std::uint32_t depth = 2;  // events in the unit for each worker: its credit
    CollectorOptions collector{};
    std::string results_to{};  // the readout that takes level-2 results; empty: a pseudo readout, if there is one
};

/// The sub-detector number of the second level's results.
inline constexpr std::uint32_t level2_detector = 0x7b;
/// A readout that serves nothing but level-2 results: they are made by the selection, which cannot look at them.
[[nodiscard]] bool is_pseudo_readout(const Peer& peer) noexcept;

/// Received: events given by the supervisor. Stored: accepted. Rejected: by level 2, or discarded with their
/// supervisor.
class SelectionUnit final : public messaging::MessageHandler {
public:
    struct Counts {
        std::uint64_t received = 0, accepted = 0, rejected = 0;
        std::uint64_t discarded = 0;                          // their supervisor was started again
        std::uint64_t overrun = 0;                            // given beyond the credit: accepted at once, by force
        std::uint64_t threw = 0, timed_out = 0, crashed = 0;  // of `accepted`, by force
        std::uint64_t steps = 0;                              // requests of selections
        std::uint64_t results_sent = 0, results_lost = 0;
        std::uint64_t unexpected = 0, malformed = 0;
        std::uint64_t in_hand = 0, computing = 0;
        std::uint64_t waiting = 0;  // of `computing`: for fragments that they have requested
        DataCollector::Counts data{};
    };

    /// Messages and workers outlive the unit.
    SelectionUnit(const UnitOptions& options, messaging::MessageSender& messages, UnitWorkers& workers,
                  Reporter report = {});

    void set_peers(const std::vector<Peer>& peers);
    void start_run();
    /// Discards and counts everything in hand.
    void reject_unfinished();

    void on_message(const messaging::IncomingMessage& message, SteadyTime now) override;
    void on_peer(wire::StationId peer, messaging::PeerChange change, SteadyTime now) override;
    [[nodiscard]] std::optional<SteadyTime> step(SteadyTime now) override;

    void judged(UnitTask task, Judgement judgement);
    /// Answered by UnitWorkers::take_requested(), also at once.
    void requested(UnitRequest request, SteadyTime now);

    [[nodiscard]] Counts counts() const;
    [[nodiscard]] service::StationLedger ledger() const;
    /// Nothing is in hand; decisions may still wait to be sent.
    [[nodiscard]] bool idle() const noexcept { return in_hand_ == 0; }
    /// All verdicts, all results were sent.
    [[nodiscard]] bool verdicts_sent() const noexcept { return verdicts_.empty(); }
    [[nodiscard]] bool results_sent() const noexcept { return results_.empty(); }
    [[nodiscard]] std::optional<wire::StationId> supervisor() const noexcept { return supervisor_; }
    [[nodiscard]] std::uint64_t credit() const noexcept { return ended_ + capacity(); }
    [[nodiscard]] std::optional<wire::StationId> results_to() const noexcept { return results_to_; }
    [[nodiscard]] std::chrono::nanoseconds round_trip() const { return collector_.round_trip(); }

private:
    [[nodiscard]] std::uint64_t capacity() const noexcept { return std::uint64_t{options_.workers} * options_.depth; }
    void given(wire::Level2Task& task, SteadyTime now);
    void give_result(wire::Level2Result result);
    void verdict(wire::Level2Verdict verdict);
    void discard_session();
    void hand_out();
    void send_verdicts();

    const UnitOptions options_;
    messaging::MessageSender& messages_;
    UnitWorkers& workers_;
    const Reporter report_;  // a selection failed on an event
    DataCollector collector_;
    Counts counts_;
    std::optional<wire::StationId> supervisor_, results_to_;
    std::uint64_t session_ = 1;
    std::uint64_t ended_ = 0;  // verdicts in this session
    std::uint64_t in_hand_ = 0;
    std::unordered_map<std::uint64_t, std::uint64_t> requests_;  // the collector's request -> the worker's
    std::uint64_t credit_sent_ = 0;
    std::deque<wire::Level2Verdict> verdicts_;  // not sent
    std::deque<wire::Level2Result> results_;    // not sent
    std::vector<std::byte> buffer_;
    wire::Level2Task task_;
    wire::Level2Decision decision_;
};

}  // namespace weir::selection
