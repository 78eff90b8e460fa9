// SPDX-License-Identifier: Apache-2.0
#include "weir/building/assigner.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir::building {
namespace {

using messaging::PeerChange;
using wire::DataflowType;

}  // namespace

Assigner::Assigner(const AssignerOptions& options, messaging::MessageSender& messages, Reporter report)
    : options_(options), messages_(messages), report_(std::move(report)) {}

void Assigner::set_peers(const std::vector<Peer>& peers, SteadyTime now) {
    std::map<wire::StationId, Builder> builders;
    std::map<wire::StationId, Readout> readouts;
    supervisor_.reset();
    for (const auto& peer : peers) {
        if (peer.kind == StationKind::build)
            builders[peer.id] = builders_.contains(peer.id) ? builders_[peer.id] : Builder{};
        if (peer.kind == StationKind::readout) readouts[peer.id] = std::move(readouts_[peer.id]);
        if (peer.kind == StationKind::supervise) supervisor_ = peer.id;
    }
    builders_.swap(builders);
    readouts_.swap(readouts);
    for (const auto& [id, builder] : builders) {
        if (!builders_.contains(id)) unassign(id, "is not part of the partition any more", now);
    }
}

void Assigner::start_run() {
    counts_ = {};
    events_ = {};
    accept_credit_sent_ = decided_by_supervisor_ = 0;
    waiting_.clear();
    assigned_.clear();
    for (auto& [id, builder] : builders_) builder = {};
    for (auto& [id, readout] : readouts_) readout = {};
    done_ = {};
    newest_place_ = 0;
}

void Assigner::on_message(const messaging::IncomingMessage& message, SteadyTime now) {
    if (message.type == DataflowType::accept && supervisor_ == message.from) {
        if (decode(message.body, accept_)) return accept(accept_, now);
        ++counts_.malformed;
    } else if (message.type == DataflowType::built && builders_.contains(message.from)) {
        if (decode(message.body, built_)) return built(message.from, built_, now);
        ++counts_.malformed;
    } else {
        ++counts_.unexpected;
    }
}

void Assigner::on_peer(wire::StationId peer, PeerChange change, SteadyTime now) {
    if (const auto builder = builders_.find(peer); builder != builders_.end()) {
        // The events of a silent builder still use up its credit. Its next message raises the credit by what it ended;
        // one that had nothing in hand has nothing to send, and is used again as soon as it is reachable.
        if (change != PeerChange::appeared)
            unassign(peer, change == PeerChange::restarted ? "was started again" : "is silent", now);
        if (change == PeerChange::restarted) builder->second = {};
        builder->second.alive = change == PeerChange::appeared;
    }
    if (const auto readout = readouts_.find(peer); readout != readouts_.end()) {
        readout->second.silent = change == PeerChange::silent;
        if (change != PeerChange::silent) readout->second.lost_its_place = true;
    }
    if (supervisor_ == peer && change == PeerChange::restarted) accept_credit_sent_ = decided_by_supervisor_ = 0;
}

void Assigner::accept(const wire::Accept& message, SteadyTime now) {
    decided_by_supervisor_ += message.accepted.size() + message.rejected.size();
    for (const auto& ticket : message.accepted) {
        if (done_.contains(place(ticket.level1_id)) || assigned_.contains(number(ticket.global_id))) {
            ++counts_.repeated;
            continue;
        }
        ++counts_.accepted;
        ++counts_.waiting;
        events_.accepted.insert(ticket.global_id);
        waiting_.push_back({.ticket = ticket, .accepted = now});
    }
    for (const auto id : message.rejected) {
        ++counts_.rejected;
        done_with(id, now);
    }
}

void Assigner::built(wire::StationId from, const wire::Built& message, SteadyTime now) {
    auto& builder = builders_[from];
    builder.alive = true;
    builder.credit = std::max(builder.credit, message.credit);
    for (const auto& event : message.events) {
        const auto found = assigned_.find(number(event.global_id));
        if (found == assigned_.end()) {  // it was reassigned, and the other was faster
            ++counts_.repeated;
            continue;
        }
        switch (event.outcome) {
            case wire::EventOutcome::incomplete: ++counts_.incomplete; [[fallthrough]];
            case wire::EventOutcome::stored: ++counts_.stored; break;
            case wire::EventOutcome::rejected:
                ++counts_.not_selected;
                events_.rejected.insert(event.global_id);
                break;
            case wire::EventOutcome::failed:
                ++counts_.failed;
                events_.failed.insert(event.global_id);
                break;
            case wire::EventOutcome::refused:
                ++counts_.refused;
                events_.refused.insert(event.global_id);
                break;
        }
        durations_.add(now - found->second.accepted);
        --counts_.assigned;
        done_with(found->second.ticket.level1_id, now);
        assigned_.erase(found);
    }
}

/// The events of a builder go to the front of those that wait, oldest first.
void Assigner::unassign(wire::StationId builder, const char* why, SteadyTime now) {
    std::vector<Waiting> back;
    for (auto it = assigned_.begin(); it != assigned_.end();) {
        if (it->second.builder != builder) {
            ++it;
            continue;
        }
        auto event = std::move(it->second);
        it = assigned_.erase(it);
        if (event.builds >= options_.builds_max) {  // every builder died with it, or none ended it
            --counts_.assigned;
            ++counts_.failed;
            events_.failed.insert(event.ticket.global_id);
            report_({.severity = Severity::warning,
                     .what = fmt::format("event {} was assigned {} times and no builder ended it: it counts as failed",
                                         number(event.ticket.global_id), event.builds),
                     .key = "event failed"});
            done_with(event.ticket.level1_id, now);
            continue;
        }
        event.ticket.reassigned = true;
        back.push_back({.ticket = std::move(event.ticket), .accepted = event.accepted, .builds = event.builds});
    }
    if (back.empty()) return;
    std::ranges::sort(back, [](const Waiting& a, const Waiting& b) { return a.ticket.global_id > b.ticket.global_id; });
    counts_.assigned -= back.size();
    counts_.waiting += back.size();
    counts_.reassigned += back.size();
    report_.warning(fmt::format("builder {} {}: its {} events are reassigned", number(builder), why, back.size()));
    for (auto& event : back) waiting_.push_front(std::move(event));
}

std::optional<SteadyTime> Assigner::step(SteadyTime now) {
    assign_what_can_be();
    send_clears(now);
    send_credit();
    // Messages that were not taken now are retried soon; groups of clears have a time of their own.
    std::optional<SteadyTime> next;
    const auto at = [&](SteadyTime time) { next = next ? std::min(*next, time) : time; };
    for (const auto& [id, readout] : readouts_) {
        if (readout.since) at(std::max(*readout.since + options_.clear_interval, now + std::chrono::milliseconds(1)));
        if (readout.lost_its_place) at(now + options_.clear_interval);
    }
    if (!waiting_.empty()) at(now + options_.clear_interval);
    if (supervisor_) at(now + options_.clear_interval);
    return next;
}

/// The builder with the most credit takes the next events, as many as bring it level with the others; one message each.
void Assigner::assign_what_can_be() {
    const auto room = [](const Builder& b) {
        return b.alive && !b.full && b.credit > b.assigned ? b.credit - b.assigned : 0;
    };
    for (auto& [id, builder] : builders_) builder.full = false;
    while (!waiting_.empty()) {
        auto best = builders_.end();
        std::uint64_t second = 0;
        for (auto it = builders_.begin(); it != builders_.end(); ++it) {
            if (room(it->second) == 0) continue;
            if (best == builders_.end() || room(it->second) > room(best->second)) {
                if (best != builders_.end()) second = std::max(second, room(best->second));
                best = it;
            } else {
                second = std::max(second, room(it->second));
            }
        }
        if (best == builders_.end()) return;
        auto& [id, builder] = *best;
        const auto level = std::max<std::uint64_t>(room(builder) - std::min(room(builder), second),
                                                   8);  // not one message for each event
        const auto count = static_cast<std::size_t>(
            std::min({level, room(builder), std::uint64_t{64}, std::uint64_t{waiting_.size()}}));
        wire::Assign assign;
        for (std::size_t i = 0; i < count; ++i) assign.events.push_back(waiting_[i].ticket);
        buffer_.clear();
        encode(assign, buffer_);
        if (!messages_.send_reliably(id, DataflowType::assign, buffer_)) {
            builder.full = true;
            continue;
        }
        for (std::size_t i = 0; i < count; ++i) {
            auto& event = waiting_.front();
            const auto key = number(event.ticket.global_id);
            assigned_[key] = {.ticket = std::move(event.ticket),
                              .accepted = event.accepted,
                              .builder = id,
                              .builds = event.builds + 1};
            waiting_.pop_front();
        }
        builder.assigned += count;
        counts_.waiting -= count;
        counts_.assigned += count;
    }
}

/// Marks the event as done: readouts can clear it.
void Assigner::done_with(Level1Id id, SteadyTime now) {
    done_.insert(place(id));
    for (auto& [station, readout] : readouts_) {
        if (readout.to_clear.empty()) readout.since = now;
        if (readout.to_clear.size() < wire::clear_events_max)
            readout.to_clear.push_back(id);  // beyond: `oldest` covers it
    }
}

void Assigner::send_clears(SteadyTime now) {
    const auto oldest = number(done_.cumulative());
    for (auto& [station, readout] : readouts_) {
        const bool due = readout.to_clear.size() >= options_.clear_group ||
                         (readout.since && now - *readout.since >= options_.clear_interval) || readout.lost_its_place;
        if (!due) continue;
        wire::Clear clear;
        clear.oldest = Level1Id{static_cast<std::uint32_t>(number(options_.first_level1) + oldest)};
        clear.events = readout.to_clear;
        buffer_.clear();
        encode(clear, buffer_);
        if (!messages_.send_reliably(station, DataflowType::clear, buffer_)) continue;
        ++counts_.clears_sent;
        readout.to_clear.clear();
        readout.since.reset();
        readout.oldest_sent = oldest;
        readout.lost_its_place = false;
    }
}

/// A total that grows as events become final, so that a message that is lost or late does no harm.
void Assigner::send_credit() {
    if (!supervisor_) return;
    const auto final_events =
        decided_by_supervisor_ - std::min<std::uint64_t>(decided_by_supervisor_, counts_.waiting + counts_.assigned);
    const auto credit = final_events + options_.events_max;
    const auto sent = accept_credit_sent_;
    if (sent != 0 && credit < sent + options_.events_max / 16 &&
        !(counts_.waiting + counts_.assigned == 0 && credit > sent))
        return;
    buffer_.clear();
    encode(wire::AcceptCredit{.credit = credit}, buffer_);
    if (messages_.send_reliably(*supervisor_, DataflowType::accept_credit, buffer_)) accept_credit_sent_ = credit;
}

Sequence Assigner::place(Level1Id id) noexcept {
    // Ids are taken to lie within 2^31 of the newest: the place is the only one near it with these 32 low bits.
    const auto low = number(id) - number(options_.first_level1);
    const auto distance = static_cast<std::int32_t>(low - static_cast<std::uint32_t>(newest_place_));
    const auto found = static_cast<std::int64_t>(newest_place_) + distance;
    const auto place = found < 0 ? std::uint64_t{low} : static_cast<std::uint64_t>(found);
    newest_place_ = std::max(newest_place_, place);
    return Sequence{place + 1};
}

void Assigner::reject_unfinished() {
    if (counts_.waiting + counts_.assigned > 0)
        report_.warning(
            fmt::format("{} events are unfinished, because the run had to end", counts_.waiting + counts_.assigned));
    counts_.unfinished += counts_.waiting + counts_.assigned;
    for (const auto& event : waiting_) events_.unfinished.insert(event.ticket.global_id);
    for (const auto& [id, event] : assigned_) events_.unfinished.insert(event.ticket.global_id);
    counts_.waiting = counts_.assigned = 0;
    waiting_.clear();
    assigned_.clear();
}

std::vector<Assigner::BuilderCounts> Assigner::builders() const {
    std::map<wire::StationId, std::uint64_t> in_hand;
    for (const auto& [id, event] : assigned_) ++in_hand[event.builder];
    std::vector<BuilderCounts> all;
    for (const auto& [id, builder] : builders_)
        all.push_back({.id = id, .credit = builder.credit, .assigned = builder.assigned, .in_hand = in_hand[id]});
    return all;
}

service::StationLedger Assigner::ledger() const {
    service::StationLedger ledger;
    ledger.received = counts_.accepted + counts_.rejected;
    ledger.stored = counts_.stored;
    const auto reject = [&](const char* reason, std::uint64_t count) {
        if (count > 0) ledger.rejected[reason] = count;
    };
    reject("level 2", counts_.rejected);
    reject("not selected", counts_.not_selected);
    reject("refused", counts_.refused);
    reject("failed", counts_.failed);
    reject("given up", counts_.unfinished);
    ledger.in_hand = counts_.waiting + counts_.assigned;
    return ledger;
}

bool Assigner::idle() const noexcept {
    return counts_.waiting + counts_.assigned == 0 &&
           std::ranges::all_of(readouts_, [](const auto& r) { return r.second.silent || r.second.to_clear.empty(); });
}

}  // namespace weir::building
