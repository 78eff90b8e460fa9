// SPDX-License-Identifier: Apache-2.0
#include "session/session.hpp"

#include <algorithm>

#include "weir/base/assert.hpp"

namespace weir::delivery {
namespace {

constexpr std::size_t rejects_per_turn = 200;  // with the longest texts about 64 KiB
constexpr std::size_t rejection_text_max = 256;
constexpr std::size_t refusals_per_turn = 8192;  // 64 KiB

Sequence before(Sequence sequence) noexcept { return Sequence{number(sequence) - 1}; }

}  // namespace

void Session::restore(const wire::SequenceSet& durable) {
    const std::scoped_lock lock(mutex_);
    final_.merge(durable);
    highest_.reset();
    untouched_ = false;  // also when nothing is durable: some copies of an event may be
}

Session::Takeover Session::take_over(Owner owner, const wire::Hello& hello) {
    const std::scoped_lock lock(mutex_);
    Takeover takeover;
    if (format_ && *format_ != hello.format) {
        takeover.format_differs = true;
        return takeover;
    }
    if (hello.oldest_held < abandoned_from_) {
        takeover.too_old = true;
        return takeover;
    }
    format_ = hello.format;
    takeover.former = std::exchange(owner_, std::move(owner));
    takeover.reopened = reopen({hello.oldest_held, Sequence{wire::sequence_max}});
    if (highest_ && number(*highest_) + 1 < number(hello.oldest_held)) {
        const wire::SequenceRange between{Sequence{number(*highest_) + 1}, before(hello.oldest_held)};
        takeover.never_came = between.count() - final_.count(between) - in_hand_.count(between);
    }
    highest_ = std::max(highest_.value_or(Sequence{0}), before(hello.oldest_held));
    erase_below(hello.oldest_held);

    takeover.durable = final_;
    to_reject_.clear();
    for (const auto& [sequence, rejection] : rejections_) {
        takeover.durable.erase(sequence);
        to_reject_.push_back(sequence);
    }
    to_acknowledge_ = {};
    to_refuse_.clear();
    for (const auto& [sequence, refused] : refusals_) {  // WELCOME would settle them without their refusals
        takeover.durable.erase(sequence);
        to_refuse_.push_back(sequence);
        to_acknowledge_.insert(sequence);
    }
    const auto ranges = takeover.durable.ranges();
    if (ranges.size() > wire::message_ranges_max) {  // WELCOME holds no more; the others follow in ACKs
        for (const auto& range : ranges.subspan(wire::message_ranges_max)) to_acknowledge_.insert(range);
    }
    notified_ = false;
    return takeover;
}

void Session::disconnected(ConnectionId connection) {
    const std::scoped_lock lock(mutex_);
    if (owned_by(connection)) owner_.reset();
}

void Session::erase_refusals_below(Sequence oldest_held) {
    const auto kept = refusals_.lower_bound(oldest_held);
    for (auto at = refusals_.begin(); at != kept; ++at) refused_records_ -= at->second.size();
    refusals_.erase(refusals_.begin(), kept);
    while (!to_refuse_.empty() && to_refuse_.front() < oldest_held) to_refuse_.pop_front();
}

void Session::erase_below(Sequence oldest_held) {
    if (oldest_held <= Sequence{1}) return;
    erase_refusals_below(oldest_held);
    const auto kept = rejections_.lower_bound(oldest_held);
    for (auto at = rejections_.begin(); at != kept; ++at) abandoned_.insert(at->first);
    rejections_.erase(rejections_.begin(), kept);
    while (!to_reject_.empty() && to_reject_.front() < oldest_held) to_reject_.pop_front();
    // Sequences that will never come again close their gaps, so that an old session stays one interval.
    // One that is in hand keeps its gap until it is answered.
    if (final_.cumulative() < before(oldest_held)) {
        wire::SequenceSet gone;
        gone.insert({Sequence{1}, before(oldest_held)});
        for (const auto& range : in_hand_.intervals()) gone.erase(range);
        auto not_here = gone;
        for (const auto& range : final_.intervals()) not_here.erase(range);
        abandoned_.merge(not_here);
        final_.merge(gone);
    }
    if (abandoned_.intervals().size() > intervals_max_) {
        abandoned_from_ = Sequence{number(abandoned_.intervals()[intervals_max_ / 2].last) + 1};
        abandoned_.erase({Sequence{1}, before(abandoned_from_)});
    }
}

/// What is abandoned is neither stored nor answered: it can come now. Returns how much that is.
std::uint64_t Session::reopen(wire::SequenceRange range) {
    wire::SequenceSet open;
    for (auto part : abandoned_.intervals()) {
        part = {std::max(part.first, range.first), std::min(part.last, range.last)};
        if (part.first <= part.last) open.insert(part);
    }
    for (const auto& part : open.intervals()) final_.erase(part);
    return abandoned_.erase(range);
}

Session::Standing Session::arrives(ConnectionId connection, const wire::EventMeta& meta, Sequence previous,
                                   std::uint64_t& skipped) {
    const std::scoped_lock lock(mutex_);
    skipped = 0;
    if (!owned_by(connection)) return Standing::not_owner;  // what it sends does not count any more
    highest_ = std::max(highest_.value_or(Sequence{0}), meta.sequence);
    if (number(meta.sequence) > number(previous) + 1) {
        const wire::SequenceRange between{Sequence{number(previous) + 1}, before(meta.sequence)};
        skipped = between.count() - final_.count(between) - in_hand_.count(between);
    }
    erase_below(meta.oldest_held);
    if (final_.contains(meta.sequence)) return Standing::final;
    if (in_hand_.contains(meta.sequence)) return Standing::in_hand;
    if (final_.intervals().size() + in_hand_.intervals().size() + rejections_.size() + refused_records_ >=
        intervals_max_)
        return Standing::scattered;
    return Standing::fresh;
}

Session::Begun Session::begin(ConnectionId connection, Sequence sequence) {
    const std::scoped_lock lock(mutex_);
    if (!owned_by(connection)) return Begun::not_owner;
    if (final_.contains(sequence) || !in_hand_.insert(sequence)) return Begun::duplicate;
    untouched_ = false;
    return Begun::yes;
}

void Session::undo_begin(ConnectionId connection, Sequence sequence) {
    const std::scoped_lock lock(mutex_);
    if (!in_hand_.erase(sequence) || !owner_ || owned_by(connection)) return;
    end_owner(wire::ByeReason::send_again,
              "an older connection took an event with it; send again what is not acknowledged");
}

void Session::hold_rejection(Sequence sequence, wire::RejectReason reason, std::string text) {
    const std::scoped_lock lock(mutex_);
    held_.insert_or_assign(sequence, Rejection{reason, std::move(text)});
}

void Session::answer(Sequence sequence) {
    const std::scoped_lock lock(mutex_);
    if (auto held = held_.extract(sequence)) {
        in_hand_.erase(sequence);
        add_rejection(sequence, held.mapped().reason, std::move(held.mapped().text));
    } else if (rejections_.contains(sequence)) {
        if (std::ranges::find(to_reject_, sequence) == to_reject_.end()) to_reject_.push_back(sequence);
    } else if (final_.contains(sequence)) {
        if (refusals_.contains(sequence) && std::ranges::find(to_refuse_, sequence) == to_refuse_.end())
            to_refuse_.push_back(sequence);
        to_acknowledge_.insert(sequence);
    } else {
        return;  // in hand: its answer is still to come
    }
    notify();
}

bool Session::acknowledge(Sequence sequence, std::vector<wire::Refusal> refused) {
    const std::scoped_lock lock(mutex_);
    if (!wire::valid(sequence) || !in_hand_.erase(sequence)) return false;
    final_.insert(sequence);
    if (!refused.empty()) {
        WEIR_ASSERT(refused.size() <= wire::refusals_max);
        refused_records_ += refused.size();
        refusals_.insert_or_assign(sequence, std::move(refused));
        to_refuse_.push_back(sequence);
    }
    to_acknowledge_.insert(sequence);
    notify();
    return true;
}

bool Session::reject(Sequence sequence, wire::RejectReason reason, std::string text) {
    const std::scoped_lock lock(mutex_);
    if (!wire::valid(sequence) || !in_hand_.erase(sequence)) return false;
    add_rejection(sequence, reason, std::move(text));
    return true;
}

bool Session::return_event(Sequence sequence) {
    const std::scoped_lock lock(mutex_);
    return wire::valid(sequence) && in_hand_.erase(sequence);
}

void Session::end_connection(wire::ByeReason reason, std::string text) {
    const std::scoped_lock lock(mutex_);
    if (owner_) end_owner(reason, std::move(text));
}

void Session::end_owner(wire::ByeReason reason, std::string text) {
    owner_->thread->request([&, connection = owner_->connection](Requests& requests) {
        requests.ends.push_back({.connection = connection, .run = key.run, .reason = reason, .text = std::move(text)});
    });
}

void Session::add_rejection(Sequence sequence, wire::RejectReason reason, std::string text) {
    final_.insert(sequence);
    if (text.size() > rejection_text_max) text.resize(rejection_text_max);
    rejections_.insert_or_assign(sequence, Rejection{reason, std::move(text)});
    to_reject_.push_back(sequence);
    notify();
}

void Session::notify() {
    if (!owner_ || std::exchange(notified_, true)) return;
    owner_->thread->request([id = owner_->connection](Requests& requests) { requests.touched.push_back(id); });
}

bool Session::take_answers(ConnectionId connection, std::uint64_t credit, bool credit_is_news,
                           std::vector<std::byte>& out) {
    const std::scoped_lock lock(mutex_);
    if (!owned_by(connection)) return false;
    notified_ = false;
    // REJECTs and REFUSEDs go first: an ACK may cover their sequences only after them.
    for (std::size_t n = 0; n < rejects_per_turn && !to_reject_.empty(); ++n) {
        const auto at = rejections_.find(to_reject_.front());
        if (at != rejections_.end()) encode(wire::Reject{at->first, at->second.reason, at->second.text}, out);
        to_reject_.pop_front();
    }
    if (!to_reject_.empty()) return true;
    for (std::size_t records = 0; records < refusals_per_turn && !to_refuse_.empty(); to_refuse_.pop_front()) {
        const auto at = refusals_.find(to_refuse_.front());
        if (at == refusals_.end()) continue;
        encode(wire::Refused{at->first, at->second}, out);
        records += at->second.size();
    }
    if (!to_refuse_.empty()) return true;
    if (to_acknowledge_.empty() && !credit_is_news) return false;

    wire::Ack ack{.credit = credit, .cumulative = final_.cumulative()};
    if (ack.cumulative != Sequence{0}) to_acknowledge_.erase({Sequence{1}, ack.cumulative});
    const auto intervals = to_acknowledge_.intervals();
    const auto taken = intervals.first(std::min(intervals.size(), wire::message_ranges_max));
    ack.ranges.assign(taken.begin(), taken.end());
    encode(ack, out);
    for (const auto& range : ack.ranges) to_acknowledge_.erase(range);
    return !to_acknowledge_.empty();
}

wire::SequenceSet Session::final_sequences() const {
    const std::scoped_lock lock(mutex_);
    return final_;
}

bool Session::anything_in_hand() const {
    const std::scoped_lock lock(mutex_);
    return !in_hand_.empty();
}

bool Session::untouched() const {
    const std::scoped_lock lock(mutex_);
    return untouched_;
}

}  // namespace weir::delivery
