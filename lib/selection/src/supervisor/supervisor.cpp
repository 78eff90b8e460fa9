// SPDX-License-Identifier: Apache-2.0
#include "weir/selection/supervisor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "weir/base/random.hpp"
#include "weir/selection/selection_unit.hpp"

namespace weir::selection {
namespace {

using namespace std::chrono_literals;
using messaging::PeerChange;
using wire::DataflowType;

constexpr auto dead_time_max = 100ms;  // how far behind its rate the trigger may fall before it skips
constexpr std::uint32_t sent_max = 65'536;

}  // namespace

Supervisor::Supervisor(const SupervisorOptions& options, messaging::MessageSender& messages, const Clock& clock,
                       Reporter report)
    : options_(options), messages_(messages), clock_(clock), report_(std::move(report)) {}

void Supervisor::set_peers(const std::vector<Peer>& peers, SteadyTime now) {
    std::map<wire::StationId, Unit> units;
    sources_.clear();
    assigner_.reset();
    results_to_.reset();
    for (const auto& peer : peers) {
        if (peer.kind == StationKind::assign) assigner_ = peer.id;
        if (peer.kind == StationKind::select) {
            if (const auto known = units_.find(peer.id); known != units_.end())
                units[peer.id] = std::move(known->second);
            units[peer.id].name = peer.name;
        }
        if (is_pseudo_readout(peer)) results_to_ = peer.id;
        else if (peer.kind == StationKind::readout)
            sources_.insert(sources_.end(), peer.sources.begin(), peer.sources.end());
    }
    std::ranges::sort(sources_);
    const auto same = std::ranges::unique(sources_);
    sources_.erase(same.begin(), same.end());
    units_.swap(units);
    for (auto& [id, unit] : units)
        if (!units_.contains(id)) unassign(id, unit, "is not part of the partition any more", now);
    if (pass()) {
        while (!to_give_.empty()) {
            accept_unjudged(to_give_.front(), false);
            to_give_.pop_front();
        }
    }
}

void Supervisor::start_run(SteadyTime now) {
    counts_ = {};
    open_.clear();
    to_give_.clear();
    deadlines_.clear();
    accepted_.clear();
    rejected_.clear();
    no_result_.clear();
    sent_.clear();
    accepted_ids_ = service::EventIds{};
    assigner_credit_ = assigner_sent_ = 0;
    window_ = 0;
    for (auto& [id, unit] : units_) unit = {.name = unit.name};
    began_ = now;
    resume(now);
}

void Supervisor::resume(SteadyTime now) {
    makes_ = true;
    next_at_ = now;
}

void Supervisor::on_message(const messaging::IncomingMessage& message, SteadyTime now) {
    if (message.type == DataflowType::level2_decision && units_.contains(message.from)) {
        if (decode(message.body, decision_)) return decided(decision_, message.from, now);
        ++counts_.malformed;
    } else if (message.type == DataflowType::accept_credit && assigner_ == message.from) {
        if (!decode(message.body, credit_)) {
            ++counts_.malformed;
            return;
        }
        if (window_ == 0) window_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(credit_.credit, sent_max));
        assigner_credit_ = std::max(assigner_credit_, credit_.credit);
    } else {
        ++counts_.unexpected;
    }
}

void Supervisor::on_peer(wire::StationId peer, PeerChange change, SteadyTime now) {
    if (assigner_ == peer) {
        if (change == PeerChange::restarted) resend_decisions();
    }
    const auto found = units_.find(peer);
    if (found == units_.end()) return;
    auto& unit = found->second;
    if (change == PeerChange::appeared) {
        unit.alive = true;
        return;
    }
    unassign(peer, unit, change == PeerChange::restarted ? "was started again" : "is silent", now);
    if (change == PeerChange::restarted) {
        unit = {.name = unit.name};
    } else {
        unit.alive = false;
    }
}

void Supervisor::decide(std::uint64_t id, bool accepted, bool forced) {
    auto node = open_.extract(id);
    if (node.empty()) return;
    auto& ticket = node.mapped().ticket;
    ticket.forced = forced;
    if (forced) ++counts_.forced;
    (accepted ? accepted_ : rejected_).push_back(std::move(ticket));
}

std::optional<SteadyTime> Supervisor::step(SteadyTime now) {
    for (auto& [id, unit] : units_) unit.full = false;
    look_at_deadlines(now);
    make(now);
    give(now);
    send_results();
    send_decisions();
    std::optional<SteadyTime> next;
    const auto at = [&next](SteadyTime time) { next = next ? std::min(*next, time) : time; };
    if (!deadlines_.empty()) at(deadlines_.front().at);
    if (makes_ && options_.rate > 0) at(std::max(next_at_, now + 100us));
    // Messages that were not taken are retried soon.
    const bool stuck = std::ranges::any_of(units_, [](const auto& unit) { return unit.second.full; });
    if (stuck || !accepted_.empty() || !rejected_.empty() || !no_result_.empty()) at(now + 5ms);
    return next;
}

bool Supervisor::may_make(SteadyTime now) {
    if (!makes_ || (options_.events != 0 && counts_.made >= options_.events)) return false;
    if (options_.rate > 0 && next_at_ > now) return false;
    const auto in_hand = open_.size() + accepted_.size() + rejected_.size();
    if (!assigner_ || assigner_sent_ + in_hand >= assigner_credit_ || in_hand >= options_.in_hand_max) {
        ++counts_.waits_for_assigner;
        return false;
    }
    return true;
}

void Supervisor::make(SteadyTime now) {
    if (options_.rate > 0 && makes_ && now - next_at_ > dead_time_max) next_at_ = now - dead_time_max;
    std::uint64_t rooms = std::numeric_limits<std::uint64_t>::max();
    if (!pass()) {
        rooms = 0;
        for (const auto& [id, unit] : units_) rooms += room(unit);
        rooms -= std::min<std::uint64_t>(rooms, to_give_.size());
    }
    // At the rate, and without limits of others, a batch per message and no more than a step's worth at once.
    for (std::uint32_t made = 0; made < 4 * wire::tickets_max && may_make(now); ++made) {
        if (rooms-- == 0) {
            ++counts_.waits_for_units;
            return;
        }
        auto fresh = ticket(counts_.made, now);
        const auto id = number(fresh.global_id);
        ++counts_.made;
        if (options_.rate > 0) {
            const std::chrono::duration<double> pause(1 / options_.rate);
            next_at_ += std::chrono::duration_cast<SteadyTime::duration>(pause);
        }
        if (pass()) {
            give_empty_result(fresh.level1_id, fresh.global_id);
            accepted_.push_back(std::move(fresh));
        } else {
            open_.emplace(id, Open{.ticket = std::move(fresh)});
            to_give_.push_back(id);
        }
    }
}

wire::EventTicket Supervisor::ticket(std::uint64_t index, SteadyTime now) const {
    wire::EventTicket made;
    if (!options_.headers.empty()) {
        // As readouts replay a file: level-1 id 1 is its first event.
        made = options_.headers[(number(options_.first_level1) + static_cast<std::uint32_t>(index) - 1) %
                                options_.headers.size()];
    } else {
        const auto since = clock_.wall().time_since_epoch();
        made.seconds = static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::seconds>(since).count());
        made.nanoseconds =
            static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since % 1s).count());
        Random random(options_.seed ^ (index * 0x9e37'79b9'7f4a'7c15));
        made.bunch_crossing_id = static_cast<std::uint32_t>(random.below(3564));
        made.trigger_type = 0x80 | static_cast<std::uint32_t>(random.below(8));
        made.level1_words.push_back(static_cast<std::uint32_t>(random.next()));
    }
    made.global_id = GlobalEventId{number(options_.first_global) + index};
    made.level1_id = Level1Id{number(options_.first_level1) + static_cast<std::uint32_t>(index)};
    if (options_.lumi_block_length > 0ms)
        made.lumi_block =
            LumiBlock{static_cast<std::uint32_t>(1 + (now - began_) / options_.lumi_block_length) & 0xffff};
    return made;
}

void Supervisor::send_decisions() {
    while (assigner_ && (!accepted_.empty() || !rejected_.empty())) {
        const auto accepts = std::min<std::size_t>({accepted_.size(), options_.batch, wire::tickets_max});
        const auto rejects = std::min(rejected_.size(), wire::clear_events_max);
        accept_.accepted.assign(accepted_.begin(), accepted_.begin() + static_cast<std::ptrdiff_t>(accepts));
        accept_.rejected.clear();
        for (std::size_t i = 0; i < rejects; ++i) accept_.rejected.push_back(rejected_[i].level1_id);
        buffer_.clear();
        encode(accept_, buffer_);
        if (!messages_.send_reliably(*assigner_, DataflowType::accept, buffer_)) return;
        for (auto* list : {&accepted_, &rejected_}) {
            const bool good = list == &accepted_;
            for (std::size_t i = 0; i < (good ? accepts : rejects); ++i) {
                remember(list->front(), good);
                list->pop_front();
            }
        }
        assigner_sent_ += accepts + rejects;
    }
}

void Supervisor::remember(const wire::EventTicket& ticket, bool accepted) {
    ++(accepted ? counts_.accepted : counts_.rejected);
    if (accepted) accepted_ids_.insert(ticket.global_id);
    sent_.push_back({ticket, accepted});
    while (sent_.size() > window_) sent_.pop_front();
}

/// A DFM that was started again has no events: it gets the latest decisions again, as many as it can have had in hand.
void Supervisor::resend_decisions() {
    assigner_credit_ = assigner_sent_ = 0;
    counts_.resent += sent_.size();
    for (auto it = sent_.rbegin(); it != sent_.rend(); ++it) {
        it->ticket.reassigned = true;
        --(it->accepted ? counts_.accepted : counts_.rejected);
        (it->accepted ? accepted_ : rejected_).push_front(std::move(it->ticket));
    }
    sent_.clear();
}

void Supervisor::force_all(SteadyTime) {
    std::vector<std::uint64_t> ids;
    for (const auto& [id, open] : open_) ids.push_back(id);
    std::ranges::sort(ids);
    for (const auto id : ids) accept_unjudged(id, true);
    to_give_.clear();
    send_results();
    send_decisions();
}

bool Supervisor::finished() const noexcept { return options_.events != 0 && counts_.made >= options_.events && idle(); }

Supervisor::Counts Supervisor::counts() const {
    auto counts = counts_;
    counts.in_hand = open_.size() + accepted_.size() + rejected_.size();
    counts.at_units = open_.size() - to_give_.size();
    return counts;
}

std::vector<Supervisor::UnitCounts> Supervisor::units() const {
    std::vector<UnitCounts> counts;
    for (const auto& [id, unit] : units_) counts.push_back({id, unit.alive, unit.credit, unit.given, unit.has.size()});
    return counts;
}

service::StationLedger Supervisor::ledger() const {
    const auto counts = this->counts();
    service::StationLedger ledger;
    ledger.received = counts.made;
    ledger.stored = counts.accepted;
    ledger.rejected["level 2"] = counts.rejected;
    ledger.in_hand = counts.in_hand;
    return ledger;
}

}  // namespace weir::selection
