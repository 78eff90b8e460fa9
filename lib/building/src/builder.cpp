// SPDX-License-Identifier: Apache-2.0
// The way of an event through the builder: assigned, begun, answered, offered, ended. How readouts are asked, and asked
// again, is builder_requests.cpp; how answers become an event builder_assembly.cpp.
#include "weir/building/builder.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir::building {

using messaging::PeerChange;
using wire::DataflowType;
using wire::RobState;

namespace {
constexpr auto no_readout = ~std::uint32_t{0};
}  // namespace

Builder::Builder(const BuilderOptions& options, messaging::MessageSender& messages, memory::BufferPool& pool,
                 BuiltSink& sink, Reporter report)
    : options_(options),
      messages_(messages),
      pool_(pool),
      sink_(sink),
      report_(std::move(report)),
      window_(options.window) {}

Builder::~Builder() = default;

void Builder::set_peers(const std::vector<Peer>& peers, SteadyTime now) {
    dfm_.reset();
    std::vector<Readout> readouts;
    std::uint32_t position = 0;
    for (const auto& peer : peers) {
        if (peer.kind == StationKind::assign) dfm_ = peer.id;
        if (peer.kind != StationKind::readout || peer.sources.empty()) continue;
        readouts.push_back({.id = peer.id, .name = peer.name, .first = position, .sources = peer.sources});
        position += static_cast<std::uint32_t>(peer.sources.size());
    }
    const bool same = std::ranges::equal(
        readouts, readouts_, [](const Readout& a, const Readout& b) { return a.id == b.id && a.sources == b.sources; });
    if (same && !readouts_.empty()) return;
    // Another detector: events that are being built begin again.
    for (auto& assembly : assemblies_) {
        if (!assembly.active) continue;
        tickets_.push_front(std::move(assembly.ticket));
        assembly.active = false;
        ++assembly.generation;
        assembly.event.reset();
    }
    readouts_ = std::move(readouts);
    readout_of_.clear();
    sources_.clear();
    rules_.clear();
    for (std::uint32_t i = 0; i < readouts_.size(); ++i) {
        const std::size_t station = number(readouts_[i].id);
        if (readout_of_.size() <= station) readout_of_.resize(station + 1, no_readout);
        readout_of_[station] = i;
        for (const auto source : readouts_[i].sources) {
            sources_.push_back(source);
            const auto rule = options_.rules.sources.find(source);
            rules_.push_back(rule == options_.rules.sources.end() ? event::SourceRule{} : rule->second);
        }
    }
    tallies_.assign(sources_.size(), {});
    ready_.clear();
    begun_.clear();
    by_level1_.clear();
    window_ = RequestWindow(options_.window);
    suspects_ = 0;
    assemblies_.resize(std::max(options_.events_max, options_.building_max));
    free_.clear();
    for (std::uint32_t i = 0; i < assemblies_.size(); ++i) free_.push_back(i);
    building_ = 0;
    next_look_ = now;
}

void Builder::start_run(RunNumber run) {
    reject_unfinished();
    run_ = run;
    counts_ = {};
    tickets_.clear();
    ended_.clear();
    complete_.clear();
    held_ = 0;
    held_since_.clear();
    lingering_ = 0;
    credit_sent_ = ended_count_ = 0;
    tallies_.assign(sources_.size(), {});
    for (auto& readout : readouts_) {
        readout.suspect = false;
        readout.lag = {};
        readout.reordering = reordering_least;
    }
    suspects_ = 0;
    newest_answered_ = ran_;
    newest_request_ = next_request_;
    longest_lag_ = {.time = options_.reask_min / 8, .requests = readouts_.size()};  // until some were measured
}

Result<> Builder::set_masks(const std::vector<service::SourceMask>& masks) {
    Result<> late;
    for (const auto& mask : masks) {
        if (!mask.from || !counts_.newest || std::ranges::find(changes_, mask) != changes_.end()) continue;
        if (const auto ahead = wire::level1_distance(*counts_.newest, *mask.from); ahead >= 0)
            late =
                fail(Errc::refused, fmt::format("event {} had begun when source 0x{:06x} was to be {} from event {} on",
                                                number(*counts_.newest), number(mask.source),
                                                mask.masked ? "masked" : "unmasked", number(*mask.from)));
    }
    masks_.set(masks);
    changes_ = masks;
    return late;
}

void Builder::on_message(const messaging::IncomingMessage& message, SteadyTime now) {
    if (message.type == DataflowType::data) return answered(message, now);
    if (message.type == DataflowType::assign && dfm_ == message.from) {
        if (decode(message.body, assign_)) return assigned(assign_, now);
        ++counts_.malformed;
        return;
    }
    ++counts_.unexpected;
}

void Builder::on_peer(wire::StationId peer, PeerChange change, SteadyTime) {
    if (dfm_ == peer && change == PeerChange::restarted) credit_sent_ = 0;
}

void Builder::assigned(const wire::Assign& message, SteadyTime now) {
    for (const auto& ticket : message.events) {
        ++counts_.received;
        tickets_.push_back(ticket);
    }
    begin_events(now);
}

/// As many as may be, and then, when as many have ended as one request can ask for: one by one each would cost each
/// readout a request of its own.
bool Builder::may_begin() noexcept {
    if (building_ >= options_.building_max) refilling_ = false;
    else if (building_ + std::min(options_.request_events, options_.building_max / 4 + 1) <= options_.building_max)
        refilling_ = true;
    return refilling_;
}

void Builder::begin_events(SteadyTime now) {
    while (!tickets_.empty() && !free_.empty() && may_begin() && complete_.empty() && !readouts_.empty()) {
        const auto stats = pool_.stats();
        // Each event that has begun may come to need as much.
        const auto begun = assemblies_.size() - free_.size();
        if (std::max<std::uint64_t>(stats.in_use.count(), begun * event_size_) + event_size_ > stats.limit.count() &&
            (stats.in_use.count() > 0 || begun > 0))
            return;
        if (by_level1_.contains(number(tickets_.front().level1_id)))
            return;  // the same id again: after the one before it
        auto ticket = std::move(tickets_.front());
        tickets_.pop_front();
        begin(std::move(ticket), now);
    }
}

void Builder::begin(wire::EventTicket ticket, SteadyTime now) {
    const auto index = free_.back();
    free_.pop_back();
    auto& assembly = assemblies_[index];
    ++assembly.generation;
    assembly.active = true;
    assembly.ticket = std::move(ticket);
    assembly.begun = now;
    assembly.missing = assembly.first_time = static_cast<std::uint32_t>(readouts_.size());
    ++building_;
    assembly.lost = assembly.bad = 0;
    assembly.level1_mismatch = false;
    assembly.slots.assign(readouts_.size(), {});
    assembly.robs.assign(sources_.size(), {});
    assembly.early.clear();
    assembly.event = std::make_unique<BuiltEvent>();
    assembly.event->memory.begin(pool_, std::clamp<std::uint64_t>(event_size_, 4096, 1 << 20));
    by_level1_[number(assembly.ticket.level1_id)] = index;
    const auto level1 = assembly.ticket.level1_id;
    if (!counts_.newest || wire::level1_distance(level1, *counts_.newest) > 0) counts_.newest = level1;
    mask(assembly);
    if (assembly.missing == 0) return complete(index);
    const Ask ask{.assembly = index, .generation = assembly.generation};
    begun_.push_back(ask);
    // Events begin with different readouts, so that not all of them answer the same builder at the same moment.
    const auto count = static_cast<std::uint32_t>(readouts_.size());
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto readout = (turn_ + i) % count;
        if (assembly.slots[readout].state == SlotState::done) continue;
        readouts_[readout].to_ask.push_back(ask);
        queue(readout);
    }
    if (++turn_ >= count) turn_ = 0;
}

std::optional<SteadyTime> Builder::step(SteadyTime now) {
    run_on(now);
    stepped_ = now;
    offer();
    begin_events(now);
    if (now >= next_look_) {
        for (std::uint32_t i = 0; i < readouts_.size(); ++i) {
            if (!readouts_[i].asked.empty() || !readouts_[i].resting.empty()) look_for_losses(i, now);
        }
        look_at_deadlines(now);
        longest_trip_ -= longest_trip_ / 1024;
        longest_lag_.time -= longest_lag_.time / 256;
        longest_lag_.requests -= (longest_lag_.requests + 255) / 256;
        next_look_ = now + std::chrono::milliseconds(1);
    }
    ask(now);
    send_outcomes(now);
    if (!begun_.empty() || !complete_.empty() || !tickets_.empty()) return next_look_;
    return now + std::chrono::milliseconds(50);  // to retry credit that was not taken
}

void Builder::answered(const messaging::IncomingMessage& message, SteadyTime now) {
    const auto from = number(message.from) < readout_of_.size() ? readout_of_[number(message.from)] : no_readout;
    if (from == no_readout) {
        ++counts_.unexpected;
        return;
    }
    auto& readout = readouts_[from];
    if (!decode(message.body, data_)) {
        ++counts_.malformed;
        return;
    }
    ++counts_.answers;
    counts_.bytes_received += message.body.size();
    if (readout.suspect) {
        readout.suspect = false;
        --suspects_;
        report_.warning(fmt::format("readout {} answers again", readout.name));
    }
    const auto found = by_level1_.find(number(data_.head.level1_id));
    if (found == by_level1_.end()) {
        ++counts_.late_or_double;
        return;
    }
    auto& assembly = assemblies_[found->second];
    auto& slot = assembly.slots[from];
    if (slot.state == SlotState::done || slot.request == 0) {
        ++counts_.late_or_double;
        return;
    }
    const bool asked = slot.state == SlotState::asked;
    if (asked || slot.state == SlotState::wanted) {
        time_trip(readout, slot, data_.head.request, now);
        note_order(readout, slot, found->second, data_.head.request);
    }
    for (const auto& part : data_.head.robs) {
        if (part.state == RobState::cleared) return abandon(found->second);
        if (part.state != RobState::not_yet || masked(assembly, readout, part.source)) continue;
        ++counts_.not_yet;
        keep_early(assembly, readout);
        if (!asked) return;
        end_asking(readout, slot);
        slot.state = SlotState::resting;
        slot.tries = 0;
        if (slot.not_yet < 8) ++slot.not_yet;
        slot.at = now + options_.not_yet_wait * (1 << (slot.not_yet - 1));
        readout.resting.push_back({.assembly = found->second, .generation = assembly.generation});
        return;
    }
    if (!store(assembly, readout, message)) {
        ++counts_.no_memory;  // it counts as missing, and is re-requested when its time is over
        return;
    }
    readout.answer_size =
        readout.answer_size == 0 ? message.body.size() : (readout.answer_size * 7 + message.body.size()) / 8;
    largest_answer_ = std::max(readout.answer_size, largest_answer_ - (largest_answer_ + 1023) / 1024);
    if (asked) {
        if (data_.head.request == slot.request) window_.answered(slot.booked, now - slot.at), slot.booked = 0;
        end_asking(readout, slot);
        note_answer(readout, slot);
    }
    slot_done(assembly, from);
    while (!readout.asked.empty()) {  // answers that came in turn need no check any more
        const auto* first = find(readout.asked.front(), from);
        if (first != nullptr && first->state == SlotState::asked && first->request == readout.asked.front().request)
            break;
        readout.asked.pop_front();
    }
    if (!readout.asked.empty() && readout.asked.front().overtaken >= readout.reordering) look_for_losses(from, now);
    if (assembly.missing == 0) complete(found->second);
}

void Builder::offer() {
    while (!complete_.empty()) {
        const auto event = complete_.front()->ticket.global_id;
        if (!sink_.take(complete_.front())) return;
        complete_.pop_front();
        ++held_;
        held_since_.emplace(event, stepped_);
    }
}

void Builder::ended(const wire::EventTicket& ticket, bool incomplete, wire::EventOutcome outcome,
                    const std::string& reason) {
    if (held_ > 0) --held_;
    held_since_.erase(ticket.global_id);
    if (outcome == wire::EventOutcome::stored) {
        ++counts_.stored;
    } else {
        ++counts_.rejected[reason.empty() ? "other" : reason];
    }
    if (incomplete && outcome == wire::EventOutcome::stored) outcome = wire::EventOutcome::incomplete;
    ended_.push_back({.global_id = ticket.global_id, .outcome = outcome});
    ++ended_count_;
}

/// Credit is the number of events that have ended and that may be in hand: it never falls, also when messages get lost.
std::uint64_t Builder::credit(SteadyTime now) {
    if (now >= next_count_) {
        lingering_ = static_cast<std::uint64_t>(std::ranges::count_if(
            held_since_, [&](const auto& held) { return now - held.second >= options_.lingering_after; }));
        next_count_ = now + std::chrono::milliseconds(100);
    }
    return std::max(credit_sent_,
                    ended_count_ + options_.events_max + std::min<std::uint64_t>(lingering_, options_.events_max));
}

void Builder::send_outcomes(SteadyTime now) {
    if (!dfm_) return;
    const auto credit = this->credit(now);
    while (!ended_.empty() || credit_sent_ < credit) {
        wire::Built built{.credit = credit};
        const auto count = std::min(ended_.size(), wire::tickets_max);
        built.events.assign(ended_.begin(), ended_.begin() + static_cast<std::ptrdiff_t>(count));
        buffer_.clear();
        encode(built, buffer_);
        if (!messages_.send_reliably(*dfm_, DataflowType::built, buffer_)) return;
        ended_.erase(ended_.begin(), ended_.begin() + static_cast<std::ptrdiff_t>(count));
        credit_sent_ = credit;
    }
}

void Builder::reject_unfinished() {
    std::uint64_t lost = tickets_.size() + complete_.size() + held_;
    for (auto& assembly : assemblies_) {
        if (!assembly.active) continue;
        ++lost;
        assembly.active = false;
        ++assembly.generation;
        assembly.event.reset();
    }
    free_.clear();
    for (std::uint32_t i = 0; i < assemblies_.size(); ++i) free_.push_back(i);
    building_ = 0;
    for (auto& readout : readouts_) {
        readout.to_ask.clear();
        readout.asked.clear();
        readout.resting.clear();
        readout.outstanding = 0;
        readout.queued = false;
    }
    ready_.clear();
    begun_.clear();
    by_level1_.clear();
    tickets_.clear();
    complete_.clear();
    held_ = 0;
    held_since_.clear();
    lingering_ = 0;
    window_ = RequestWindow(options_.window);
    counts_.unfinished += lost;
    if (lost > 0) report_.warning(fmt::format("{} events are unfinished, because the run had to end", lost));
}

Builder::Counts Builder::counts() const {
    auto counts = counts_;
    counts.in_hand = tickets_.size() + complete_.size() + held_ + (assemblies_.size() - free_.size());
    counts.window = window_.size();
    counts.in_flight = window_.in_flight();
    counts.mask_changes = changes_.size();
    return counts;
}

service::StationLedger Builder::ledger() const {
    const auto now = counts();
    service::StationLedger ledger;
    ledger.received = now.received;
    ledger.stored = now.stored;
    ledger.rejected = now.rejected;
    if (now.failed > 0) ledger.rejected["failed"] = now.failed;
    if (now.unfinished > 0) ledger.rejected["given up"] = now.unfinished;
    ledger.in_hand = now.in_hand;
    return ledger;
}

std::vector<service::SourceStatus> Builder::sources() const {
    std::vector<service::SourceStatus> all;
    all.reserve(sources_.size());
    for (std::size_t i = 0; i < sources_.size(); ++i)
        all.push_back({.source = sources_[i],
                       .expected = tallies_[i].expected,
                       .missing = tallies_[i].missing,
                       .masked = tallies_[i].masked});
    return all;
}

}  // namespace weir::building
