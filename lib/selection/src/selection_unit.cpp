// SPDX-License-Identifier: Apache-2.0
#include "weir/selection/selection_unit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "selection_alarm.hpp"

namespace weir::selection {
namespace {

using namespace std::chrono_literals;
using messaging::PeerChange;
using wire::DataflowType;

constexpr std::size_t results_max = 65'536;   // nearly all of them empty
constexpr std::size_t decision_events = 128;  // of one message

}  // namespace

bool is_pseudo_readout(const Peer& peer) noexcept {
    return peer.kind == StationKind::readout && !peer.sources.empty() &&
           std::ranges::all_of(peer.sources,
                               [](SourceId source) { return (number(source) >> 16 & 0xff) == level2_detector; });
}

SelectionUnit::SelectionUnit(const UnitOptions& options, messaging::MessageSender& messages, UnitWorkers& workers,
                             Reporter report)
    : options_(options),
      messages_(messages),
      workers_(workers),
      report_(std::move(report)),
      collector_(options.collector, messages) {}

void SelectionUnit::set_peers(const std::vector<Peer>& peers) {
    supervisor_.reset();
    results_to_.reset();
    for (const auto& peer : peers) {
        if (peer.kind == StationKind::supervise) supervisor_ = peer.id;
        if (peer.kind == StationKind::readout &&
            (options_.results_to.empty() ? is_pseudo_readout(peer) : peer.name == options_.results_to))
            results_to_ = peer.id;
    }
    collector_.set_readouts(peers);
}

void SelectionUnit::start_run() {
    discard_session();
    counts_ = {};
}

void SelectionUnit::reject_unfinished() { discard_session(); }

/// The supervisor no longer waits for the events in hand; judgements that workers still compute are discarded.
void SelectionUnit::discard_session() {
    ++session_;
    counts_.discarded += in_hand_;
    collector_.discard_all();
    for (const auto& [request, worker] : std::exchange(requests_, {})) workers_.take_requested(worker, nullptr);
    verdicts_.clear();
    results_.clear();
    in_hand_ = ended_ = credit_sent_ = 0;
}

void SelectionUnit::on_message(const messaging::IncomingMessage& message, SteadyTime now) {
    if (message.type == DataflowType::level2_task && supervisor_ == message.from) {
        if (decode(message.body, task_)) return given(task_, now);
        ++counts_.malformed;
    } else if (message.type == DataflowType::data) {
        collector_.on_data(message, now);
    } else {
        ++counts_.unexpected;
    }
}

void SelectionUnit::on_peer(wire::StationId peer, PeerChange change, SteadyTime now) {
    if (supervisor_ != peer) return collector_.on_peer(peer, change, now);
    if (change == PeerChange::restarted) discard_session();
}

void SelectionUnit::given(wire::Level2Task& task, SteadyTime now) {
    for (auto& event : task.events) {
        ++counts_.received;
        ++in_hand_;
        if (in_hand_ > 4 * capacity() + wire::tickets_max) {
            ++counts_.overrun;
            give_result({event.ticket.level1_id, event.ticket.global_id, {}});
            verdict({.global_id = event.ticket.global_id, .accepted = true, .forced = true});
            continue;
        }
        collector_.begin(std::move(event.ticket), event.regions, now);
    }
}

std::optional<SteadyTime> SelectionUnit::step(SteadyTime now) {
    auto next = collector_.step(now);
    hand_out();
    send_verdicts();
    // To retry messages that were not taken, and the first credit to a supervisor that is not reachable yet.
    if (!verdicts_.empty() || !results_.empty() || (supervisor_ && credit_sent_ < credit()))
        next = std::min(next.value_or(now + 10ms), now + 10ms);
    return next;
}

void SelectionUnit::hand_out() {
    while (auto event = collector_.take_ready()) {
        if (const auto asked = requests_.find(event->request); asked != requests_.end()) {
            const auto worker = asked->second;
            requests_.erase(asked);
            workers_.take_requested(worker, std::move(event));
            continue;
        }
        ++counts_.computing;
        workers_.take({std::move(event), session_});
    }
}

void SelectionUnit::requested(UnitRequest request, SteadyTime now) {
    if (request.session != session_) return workers_.take_requested(request.id, nullptr);
    ++counts_.steps;
    const auto number = collector_.begin(std::move(request.ticket), request.sources, now);
    requests_.emplace(number, request.id);  // taken out by the next step
}

void SelectionUnit::judged(UnitTask task, Judgement judgement) {
    --counts_.computing;
    if (task.session != session_ || judgement.trouble == Trouble::stopped)
        return;  // stopped: discarded with what else is in hand
    const auto& ticket = task.data->ticket;
    const bool forced = judgement.trouble != Trouble::none;
    if (forced) {
        ++(judgement.trouble == Trouble::threw     ? counts_.threw
           : judgement.trouble == Trouble::crashed ? counts_.crashed
                                                   : counts_.timed_out);
        report_(selection_alarm(
            "", judgement.trouble,
            fmt::format("on event {}, which is accepted: {}", number(ticket.global_id), judgement.why)));
        judgement.force();
    }
    auto& decision = judgement.decision;
    if (decision.accepted) give_result({ticket.level1_id, ticket.global_id, std::move(decision.result)});
    verdict({.global_id = ticket.global_id,
             .accepted = decision.accepted,
             .forced = forced,
             .level2_words = std::move(decision.level2_words)});
}

/// Memory is bounded: when the pseudo readout takes none, older results lose their bytes, and are sent
/// empty, because builders wait for them.
void SelectionUnit::give_result(wire::Level2Result result) {
    if (!results_to_) return;
    results_.push_back(std::move(result));
    if (results_.size() > 4 * capacity()) {
        auto& older = results_[results_.size() - 1 - 4 * capacity()];
        if (!older.result.empty()) ++counts_.results_lost;
        older.result = {};
    }
    if (results_.size() > results_max) results_.pop_front();
}

void SelectionUnit::verdict(wire::Level2Verdict verdict) {
    ++(verdict.accepted ? counts_.accepted : counts_.rejected);
    ++ended_;
    --in_hand_;
    verdicts_.push_back(std::move(verdict));
}

void SelectionUnit::send_verdicts() {
    while (!results_.empty() && results_to_) {
        buffer_.clear();
        encode(results_.front(), buffer_);
        if (!messages_.send_reliably(*results_to_, DataflowType::level2_result, buffer_)) break;
        ++counts_.results_sent;
        results_.pop_front();
    }
    while (supervisor_ && (!verdicts_.empty() || credit_sent_ < credit())) {
        const auto events = static_cast<std::ptrdiff_t>(std::min(verdicts_.size(), decision_events));
        decision_.credit = credit();
        decision_.events.assign(verdicts_.begin(), verdicts_.begin() + events);
        buffer_.clear();
        encode(decision_, buffer_);
        if (!messages_.send_reliably(*supervisor_, DataflowType::level2_decision, buffer_)) return;
        credit_sent_ = decision_.credit;
        verdicts_.erase(verdicts_.begin(), verdicts_.begin() + events);
    }
}

SelectionUnit::Counts SelectionUnit::counts() const {
    auto counts = counts_;
    counts.in_hand = in_hand_;
    counts.waiting = requests_.size();
    counts.data = collector_.counts();
    return counts;
}

service::StationLedger SelectionUnit::ledger() const {
    service::StationLedger ledger;
    ledger.received = counts_.received;
    ledger.stored = counts_.accepted;
    ledger.rejected["level 2"] = counts_.rejected;
    if (counts_.discarded > 0) ledger.rejected["dropped"] = counts_.discarded;
    ledger.in_hand = in_hand_;
    return ledger;
}

}  // namespace weir::selection
