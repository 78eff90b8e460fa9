// SPDX-License-Identifier: Apache-2.0
#include "weir/selection/supervisor.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "triggers/busy_account.hpp"
#include "triggers/clock_triggers.hpp"
#include "triggers/made_triggers.hpp"
#include "triggers/outside/first_triggers.hpp"
#include "triggers/trigger_notices.hpp"
#include "weir/selection/selection_unit.hpp"

namespace weir::selection {
namespace {

using namespace std::chrono_literals;
using messaging::PeerChange;
using wire::DataflowType;

constexpr std::uint32_t sent_max = 65'536;
constexpr std::size_t sent_skipped_max = 1024;
constexpr int skipped_at_once = 16;                             // messages
constexpr std::size_t tickets_at_once = 4 * wire::tickets_max;  // of a step

std::unique_ptr<TriggerSource> make_triggers(const SupervisorOptions& options, const Clock& clock,
                                             const Reporter& report) {
    const auto& spec = options.triggers;
    switch (spec.kind) {
        case TriggerKind::made:
        case TriggerKind::file:
        case TriggerKind::network:
        case TriggerKind::plug_in: break;  // whose source is given
        case TriggerKind::first:
            return std::make_unique<FirstTriggers>(spec.source, options.first_level1, report, clock);
        case TriggerKind::periodic:
        case TriggerKind::random: {
            const ClockTriggersOptions made{.rate = spec.rate,
                                            .random = spec.kind == TriggerKind::random,
                                            .first = options.first_level1,
                                            .seed = options.seed};
            return std::make_unique<ClockTriggers>(made, clock);
        }
    }
    MadeTriggersOptions made{
        .rate = spec.rate, .first = options.first_level1, .seed = options.seed, .headers = options.headers};
    return std::make_unique<MadeTriggers>(std::move(made), clock);
}

}  // namespace

Supervisor::Supervisor(const SupervisorOptions& options, messaging::MessageSender& messages, const Clock& clock,
                       Reporter report)
    : options_(options),
      messages_(messages),
      report_(std::move(report)),
      own_triggers_(make_triggers(options, clock, report_)),
      triggers_(own_triggers_.get()),
      first_(dynamic_cast<FirstTriggers*>(triggers_)),
      busy_(std::make_unique<BusyAccount>()),
      notices_(std::make_unique<TriggerNotices>()) {}

Supervisor::Supervisor(const SupervisorOptions& options, messaging::MessageSender& messages, TriggerSource& triggers,
                       Reporter report)
    : options_(options),
      messages_(messages),
      report_(std::move(report)),
      triggers_(&triggers),
      busy_(std::make_unique<BusyAccount>()),
      notices_(std::make_unique<TriggerNotices>()) {}

Supervisor::~Supervisor() = default;

void Supervisor::set_peers(const std::vector<Peer>& peers, SteadyTime now) {
    std::map<wire::StationId, Unit> units;
    std::map<wire::StationId, Readout> readouts;
    sources_.clear();
    first_from_.clear();
    assigner_.reset();
    results_to_.reset();
    for (const auto& peer : peers) {
        if (peer.kind == StationKind::assign) {
            assigner_ = peer.id;
            assigner_name_ = peer.name;
        }
        if (peer.kind == StationKind::select) {
            if (const auto known = units_.find(peer.id); known != units_.end())
                units[peer.id] = std::move(known->second);
            units[peer.id].name = peer.name;
        }
        if (is_pseudo_readout(peer)) results_to_ = peer.id;
        else if (peer.kind == StationKind::readout)
            sources_.insert(sources_.end(), peer.sources.begin(), peer.sources.end());
        if (peer.kind == StationKind::readout && peer.busy &&
            std::ranges::find(peer.sources, options_.triggers.source) != peer.sources.end())
            first_from_.insert(peer.id);
        if (peer.kind == StationKind::readout && peer.busy) {
            if (const auto known = readouts_.find(peer.id); known != readouts_.end()) readouts[peer.id] = known->second;
            readouts[peer.id].name = peer.name;
        }
    }
    readouts_ = std::move(readouts);
    notices_->set_peers(peers);
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
    skipped_.clear();
    sent_skipped_.clear();
    no_result_.clear();
    sent_.clear();
    accepted_ids_ = service::EventIds{};
    assigner_credit_ = assigner_sent_ = 0;
    window_ = 0;
    for (auto& [id, unit] : units_) unit = {.name = unit.name};
    for (auto& [id, readout] : readouts_) readout = {.name = readout.name};
    began_ = now;
    makes_ = true;
    triggers_->start_run(now);
    notices_->start_run();
    busy_->start_run(now);
    account_busy(now);
}

void Supervisor::pause(SteadyTime now) {
    makes_ = false;
    account_busy(now);
}

void Supervisor::stop(SteadyTime now) {
    pause(now);
    triggers_->end_input();
}

void Supervisor::resume(SteadyTime now) {
    makes_ = true;
    triggers_->resume(now);
    account_busy(now);
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
    } else if (message.type == DataflowType::readout_busy && readouts_.contains(message.from)) {
        if (!decode(message.body, readout_busy_)) {
            ++counts_.malformed;
            return;
        }
        take_busy(readout_busy_, message.from);
    } else if (message.type == DataflowType::fragment_seen && first_ != nullptr && first_from_.contains(message.from)) {
        if (!decode(message.body, seen_) || !first_->seen(seen_, now)) ++counts_.malformed;
    } else {
        ++counts_.unexpected;
    }
}

void Supervisor::on_peer(wire::StationId peer, PeerChange change, SteadyTime now) {
    if (assigner_ == peer) {
        if (change == PeerChange::restarted) resend_decisions();
    }
    // A readout that was started again, or is silent, is busy only if it says so again.
    if (const auto readout = readouts_.find(peer); readout != readouts_.end() && change != PeerChange::appeared)
        readout->second = {.name = readout->second.name};
    if (first_ != nullptr && change == PeerChange::restarted && first_from_.contains(peer)) first_->restarted();
    if (change != PeerChange::appeared) notices_->forget(peer);
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
    const bool notified = notices_->send(messages_);
    give(now);
    send_results();
    send_decisions();
    account_busy(now);
    std::optional<SteadyTime> next;
    const auto at = [&next](SteadyTime time) { next = next ? std::min(*next, time) : time; };
    if (!deadlines_.empty()) at(deadlines_.front().at);
    if (const auto trigger = triggers_->next(); trigger && wants_triggers()) at(std::max(*trigger, now + 100us));
    // Messages that were not taken are retried soon.
    const bool stuck = std::ranges::any_of(units_, [](const auto& unit) { return unit.second.full; });
    if (stuck || !notified || !nothing_to_send() || !no_result_.empty()) at(now + 5ms);
    return next;
}

bool Supervisor::wants_triggers() const noexcept {
    return makes_ && (options_.events == 0 || counts_.made < options_.events);
}

bool Supervisor::assigner_has_room() const noexcept {
    const auto in_hand = open_.size() + accepted_.size() + rejected_.size();
    return assigner_ && assigner_sent_ + in_hand < assigner_credit_ && in_hand < options_.in_hand_max;
}

std::uint64_t Supervisor::rooms_of_units() const noexcept {
    if (pass()) return std::numeric_limits<std::uint64_t>::max();
    std::uint64_t rooms = 0;
    for (const auto& [id, unit] : units_) rooms += room(unit);
    return rooms - std::min<std::uint64_t>(rooms, to_give_.size());
}

/// As many as make() takes in one step.
std::size_t Supervisor::room_for_triggers() const noexcept {
    if (!wants_triggers() || !assigner_has_room() || held_by_readouts()) return 0;
    const auto in_hand = open_.size() + accepted_.size() + rejected_.size();
    const auto wanted = options_.events == 0 ? tickets_at_once : options_.events - counts_.made;
    return std::min<std::uint64_t>({tickets_at_once, wanted, rooms_of_units(), room_beside_busy(),
                                    assigner_credit_ - assigner_sent_ - in_hand, options_.in_hand_max - in_hand});
}

void Supervisor::make(SteadyTime now) {
    triggers_->collect(now, room_for_triggers());
    std::ranges::move(triggers_->take_skipped(), std::back_inserter(skipped_));
    auto rooms = rooms_of_units();
    // Without limits of others a batch per message, and no more than a step's worth at once.
    for (std::uint32_t made = 0; made < tickets_at_once && wants_triggers() && triggers_->due(now); ++made) {
        const bool units_full = rooms == 0;
        const bool assigner_full = !assigner_has_room();
        if (assigner_full) ++counts_.waits_for_assigner;
        else if (units_full) ++counts_.waits_for_units;
        if (assigner_full || units_full || held_by_readouts()) {
            triggers_->refuse(now);
            return;
        }
        --rooms;
        make_ticket(now);
    }
}

void Supervisor::make_ticket(SteadyTime now) {
    auto fresh = triggers_->take(now);
    fresh.global_id = GlobalEventId{number(options_.first_global) + counts_.made};
    if (options_.lumi_block_length > 0ms)
        fresh.lumi_block =
            LumiBlock{static_cast<std::uint32_t>(1 + (now - began_) / options_.lumi_block_length) & 0xffff};
    const auto id = number(fresh.global_id);
    ++counts_.made;
    notices_->add(fresh);
    if (pass()) {
        give_empty_result(fresh.level1_id, fresh.global_id);
        accepted_.push_back(std::move(fresh));
    } else {
        open_.emplace(id, Open{.ticket = std::move(fresh)});
        to_give_.push_back(id);
    }
}

/// Ids without a trigger are rejected: their fragments are cleared. They use no credit, since the DFM is done with them
/// at once. A few messages in each step: decisions do not wait behind millions of them. False: not now.
bool Supervisor::send_skipped() {
    for (int sent = 0; sent < skipped_at_once && assigner_ && !skipped_.empty(); ++sent) {
        auto& ids = skipped_.front();
        const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(ids.count, wire::clear_events_max));
        accept_.accepted.clear();
        accept_.rejected.clear();
        for (std::uint32_t i = 0; i < count; ++i) accept_.rejected.push_back(Level1Id{number(ids.first) + i});
        buffer_.clear();
        encode(accept_, buffer_);
        if (!messages_.send_reliably(*assigner_, DataflowType::accept, buffer_)) return false;
        assigner_sent_ += count;
        counts_.skipped += count;
        sent_skipped_.push_back({ids.first, count});
        if (sent_skipped_.size() > sent_skipped_max) sent_skipped_.pop_front();
        ids = {Level1Id{number(ids.first) + count}, ids.count - count};
        if (ids.count == 0) skipped_.pop_front();
    }
    return true;
}

void Supervisor::send_decisions() {
    if (!send_skipped()) return;
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
    for (auto it = sent_skipped_.rbegin(); it != sent_skipped_.rend(); ++it) {
        counts_.skipped -= it->count;
        skipped_.push_front(*it);
    }
    sent_skipped_.clear();
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

bool Supervisor::finished() const noexcept { return all_made() && idle(); }

Supervisor::Counts Supervisor::counts() const {
    auto counts = counts_;
    counts.in_hand = open_.size() + accepted_.size() + rejected_.size();
    counts.at_units = open_.size() - to_give_.size();
    return counts;
}

std::uint64_t Supervisor::triggers_not_sent() const { return notices_->not_sent(); }

std::vector<Supervisor::UnitCounts> Supervisor::units() const {
    std::vector<UnitCounts> counts;
    for (const auto& [id, unit] : units_) counts.push_back({id, unit.alive, unit.credit, unit.given, unit.has.size()});
    return counts;
}

service::StationLedger Supervisor::ledger() const {
    const auto counts = this->counts();
    const auto triggers = triggers_->counts();
    service::StationLedger ledger;
    ledger.received = triggers.received;
    ledger.stored = counts.accepted;
    ledger.rejected["level 2"] = counts.rejected;
    ledger.in_hand = counts.in_hand + triggers.in_hand;
    const auto refuse = [&](const char* reason, std::uint64_t count) {
        if (count > 0) ledger.rejected[reason] = count;
    };
    refuse("duplicate", triggers.doubled);
    refuse("out_of_order", triggers.out_of_order);
    refuse("too_far_ahead", triggers.too_far_ahead);
    refuse("malformed", triggers.malformed);
    refuse("stopping", triggers.stopping);
    return ledger;
}

}  // namespace weir::selection
