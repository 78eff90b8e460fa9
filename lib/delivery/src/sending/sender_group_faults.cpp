// SPDX-License-Identifier: Apache-2.0
// What a group does about receivers that are away, refuse or have left: their events are withdrawn and go to others, or
// wait; their senders are opened again; and the group fails, where it may.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sending/sender_group_line.hpp"
#include "weir/delivery/sender_group.hpp"

namespace weir::delivery {
namespace {

using namespace std::chrono_literals;

/// The longest time that one call adds to the time that a receiver is away: a pause of this process does not count.
constexpr auto look_counts_max = 1s;

/// "3, 7-9, 12"; of very many the first ones.
std::string listed(std::vector<std::uint64_t> ids) {
    constexpr std::size_t ranges_max = 100;
    std::ranges::sort(ids);
    std::string text;
    std::size_t ranges = 0;
    for (std::size_t i = 0; i < ids.size();) {
        auto last = i;
        while (last + 1 < ids.size() && ids[last + 1] == ids[last] + 1) ++last;
        if (++ranges > ranges_max) return text + fmt::format(", and {} more", ids.size() - i);
        if (!text.empty()) text += ", ";
        text += last == i ? fmt::format("{}", ids[i]) : fmt::format("{}-{}", ids[i], ids[last]);
        i = last + 1;
    }
    return text;
}

}  // namespace

void SenderGroup::look_after(SteadyTime now) {
    const std::scoped_lock changing(changing_);
    const bool any_connected =
        std::ranges::any_of(members_, [](const Member& m) { return m.line && m.line->sender->connected(); });
    const auto passed = std::min<SteadyTime::duration>(now - looked_at_.value_or(now), look_counts_max);
    looked_at_ = now;
    for (auto& member : members_) look_after(member, now, passed, any_connected);
    judge(passed, any_connected);
    send_withdrawn();
}

void SenderGroup::look_after(Member& member, SteadyTime now, SteadyTime::duration passed, bool any_connected) {
    const auto failure = member.line ? member.line->sender->failure() : std::nullopt;
    if (failure && !options_.reopen_after) return fail_with(*failure);
    const bool connected = member.line && !failure && member.line->sender->connected();
    if (connected) member.away = {};
    else if (any_connected) member.away += passed;
    if (failure) member.refusal = failure;
    else if (connected) member.refusal.reset(), member.refusal_told.clear();
    const bool away = !connected && any_connected;
    const bool is_passed_over = away && !member.passed_over && member.away >= options_.pass_over_after;
    const bool is_lost = away && !member.lost && options_.move_after > 0ms && member.away >= options_.move_after;
    {
        const std::scoped_lock lock(mutex_);
        member.passed_over = !connected && (member.passed_over || is_passed_over || is_lost);
        member.lost = !connected && (member.lost || is_lost);
    }
    if (member.line && (failure || is_lost)) {
        member.problem = member.line->sender->stats().last_problem;
        const auto events = withdraw(member);
        member.open_at = now + options_.reopen_after.value_or(0ms);
        const bool told = std::exchange(member.refusal_told, member.problem) == member.problem && events == 0;
        if (told && !is_lost) return;  // it is asked again and again
        if (!is_lost && others_get_them(member.receiver))
            lost(member.receiver, fmt::format("refuses: {}", member.problem), choice_);
        else if (!is_lost)
            report(member.receiver, fmt::format("refuses: {}; its {} events are sent again", member.problem, events));
    } else if (!member.line && member.open_at <= now) {
        reopen(member, now);
    } else if (member.line && away && member.passed_over) {
        withdraw_unsent(member);
    }
    if (is_lost)
        lost(member.receiver, fmt::format("is away for {} ms ({})", member.away / 1ms, member.problem), choice_);
}

void SenderGroup::judge(SteadyTime::duration passed, bool any_connected) {
    alone_ = any_connected ? SteadyTime::duration{} : alone_ + passed;
    if (!options_.fail_after || members_.empty()) return;
    if (std::ranges::all_of(members_, [](const Member& m) { return m.refusal.has_value(); }))
        return fail_with(*members_.front().refusal);
    if (*options_.fail_after > 0ms && alone_ >= *options_.fail_after)
        fail_with({Errc::io, 0,
                   fmt::format("no connection for {} s to any of {}: {}",
                               std::chrono::duration_cast<std::chrono::seconds>(alone_).count(), members_.size(),
                               problem())});
}

void SenderGroup::fail_with(const Error& error) {
    const std::scoped_lock lock(mutex_);
    if (!failure_) failure_ = error;
    rooms_.fetch_add(1, std::memory_order_relaxed);
    room_.notify_all();
}

void SenderGroup::reopen(Member& member, SteadyTime now) {
    auto line = open(member.receiver);
    if (line) {
        const std::scoped_lock lock(mutex_);
        member.line = std::move(*line);
        return;
    }
    const auto pause = options_.reopen_after.value_or(0ms);
    member.open_at = now + pause;
    auto problem = line.error().message();
    if (problem != member.problem)
        report_.warning(fmt::format("a sender to {} cannot be opened: {}; the next attempt is in {} ms",
                                    title_of(member.receiver), problem, pause / 1ms));
    member.problem = std::move(problem);
}

/// The line's thread has ended then: nothing is answered in between.
std::size_t SenderGroup::withdraw(Member& member) {
    std::shared_ptr<Line> line;
    {
        const std::scoped_lock lock(mutex_);
        line.swap(member.line);
    }
    if (!line) return 0;
    auto events = line->sender->withdraw();
    for (auto& event : events) withdrawn_.push_back({std::move(event), member.receiver});
    const auto stats = line->sender->stats();
    const std::scoped_lock lock(mutex_);
    past_reconnects_ += stats.reconnects;
    past_sent_ += stats.sent;
    past_resent_ += stats.resent;
    return events.size();
}

/// What is left of its events is in doubt and waits for it.
void SenderGroup::withdraw_unsent(Member& member) {
    {
        const std::scoped_lock lock(mutex_);
        if (member.line->calls.load(std::memory_order_acquire) > 0) return;  // the next look comes soon
        member.withdrawing = true;                                           // and none begins
    }
    auto events = member.line->sender->withdraw_unsent();
    member.line->events.withdrawn(events.size());
    std::uint64_t size = 0;
    for (auto& event : events) {
        size += payload_size(event.payload);
        withdrawn_.push_back({std::move(event), member.receiver});
    }
    const auto stats = member.line->sender->stats();
    {
        const std::scoped_lock lock(mutex_);
        member.withdrawing = false;
    }
    member.line->bytes.fetch_sub(size, std::memory_order_relaxed);
    if (!events.empty())
        report(member.receiver, fmt::format("is not connected ({}); {} events that were never sent to it go to the "
                                            "others, {} wait for it",
                                            stats.last_problem, events.size(), stats.held));
}

void SenderGroup::report(const Peer& receiver, std::string what) const {
    report_({.severity = Severity::warning,
             .what = fmt::format("{} {}", title_of(receiver), what),
             .key = fmt::format("{}{}", receiver_report, receiver.name)});
}

/// Where the load decides, another receiver takes what this one refuses; else it is asked again.
bool SenderGroup::others_get_them(const Peer& receiver) const {
    return choice_ == Choice::least_loaded &&
           std::ranges::any_of(members_, [&](const Member& other) { return other.receiver.events != receiver.events; });
}

/// Of one that has one.
std::string SenderGroup::problem() const {
    for (const auto& member : members_) {
        auto problem = member.line ? member.line->sender->stats().last_problem : member.problem;
        if (!problem.empty()) return problem;
    }
    return {};
}

/// Its events go to the others from now on. `had`: the rule by which they were given to it.
void SenderGroup::lost(const Peer& receiver, const std::string& why, Choice had) {
    std::vector<std::uint64_t> in_doubt;
    std::size_t events = 0;
    for (auto& taken : withdrawn_) {
        if (taken.receiver.name != receiver.name || std::exchange(taken.told, true)) continue;
        ++events;
        // Of what filters get from several builders, the recorder behind them finds the duplicate.
        if ((had == Choice::by_event || receiver.kind == StationKind::record) && taken.event.description.sent_elsewhere)
            in_doubt.push_back(number(taken.event.description.global_id));
    }
    const auto count = in_doubt.size();
    in_doubt_.fetch_add(count, std::memory_order_relaxed);
    auto text = fmt::format("{}; its {} events go to the others", why, events);
    if (count > 0)
        text += fmt::format("; {} of them were sent to it and may be stored there too: {}", count,
                            listed(std::move(in_doubt)));
    report(receiver, std::move(text));
}

void SenderGroup::send_withdrawn() {
    Lines full;  // this time
    std::erase_if(withdrawn_, [&](Withdrawn& taken) {
        auto& event = taken.event;
        const auto size = payload_size(event.payload);
        std::shared_ptr<Line> line;
        bool moves = false;
        {
            const std::scoped_lock lock(mutex_);
            // Another connection to the same recorder is another session, in which it does not recognise what it has.
            const auto excluded = full.size();
            const bool another = std::ranges::any_of(members_, [&](const Member& member) {
                return member.line && !member.lost && !member.refusal &&
                       member.receiver.events != taken.receiver.events;
            });
            if (choice_ == Choice::least_loaded && event.description.sent_elsewhere && another) {
                for (const auto& member : members_)
                    if (member.line && member.receiver.events == taken.receiver.events) full.push_back(member.line);
            }
            if (const auto* member =
                    choose(event.description.global_id, event.description.sent_elsewhere, size, full)) {
                line = member->line;
                moves = member->receiver.name != taken.receiver.name;
            }
            full.resize(excluded);
        }
        if (!line) return false;
        if (try_send(*line, event.description, event.payload, size) == Tried::full) {
            full.push_back(std::move(line));
            return false;
        }
        if (moves) moved_.fetch_add(1, std::memory_order_relaxed);
        return true;
    });
}

}  // namespace weir::delivery
