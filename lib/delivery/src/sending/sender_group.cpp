// SPDX-License-Identifier: Apache-2.0
#include "weir/delivery/sender_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "receiving/in_flight_events.hpp"
#include "weir/base/assert.hpp"
#include "weir/base/endian.hpp"
#include "weir/base/guid.hpp"
#include "weir/base/thread_account.hpp"
#include "weir/wire/message.hpp"
#include "weir/wire/recorder_choice.hpp"

namespace weir::delivery {
namespace {

using namespace std::chrono_literals;

/// The longest time that one call adds to the time that a receiver is away: a pause of this process does not count.
constexpr auto look_counts_max = 1s;
constexpr std::size_t compared_max = 16;  // receivers for one event: of a thousand, these are enough for an even load
// Small events go to a receiver in batches: each change of receiver costs a call of the system and wakes a thread.
constexpr std::uint64_t batch = 64 << 10;
constexpr std::uint64_t not_connected = std::uint64_t{1} << 63;  // comes after every one that is

std::string title(const Peer& receiver) {
    return fmt::format("{} {}", receiver.kind == StationKind::record ? "recorder" : name(receiver.kind), receiver.name);
}

std::uint64_t size_of(std::span<const Piece> payload) {
    std::uint64_t size = 0;
    for (const auto& piece : payload) size += piece.data.size();
    return size;
}

/// A limit is that of the event's size, unless it is one of its tags; what else cannot be sent has no payload.
wire::RejectReason why_not(Errc error, const EventDescription& event) {
    wire::EventMeta meta;
    meta.tags = event.tags;
    if (!wire::event_fits(meta)) return wire::RejectReason::bad_tag;
    return error == Errc::limit ? wire::RejectReason::too_large : wire::RejectReason::malformed_event;
}

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

struct SenderGroup::Line {
    InFlightEvents events{};
    std::atomic<std::uint64_t> bytes{0};  // not answered; released after on_final, acquired in settled()
    std::atomic<std::uint32_t> calls{0};  // of its sender that go on; each begins with mutex_
    std::unique_ptr<Sender> sender{};     // the last member: its thread ends events
};

/// A call of a line's sender, from when the line was chosen on.
class SenderGroup::Call {
public:
    Call() = default;
    /// With mutex_.
    explicit Call(std::shared_ptr<Line> line) : line_(std::move(line)) {
        if (line_) line_->calls.fetch_add(1, std::memory_order_relaxed);
    }
    Call(Call&&) noexcept = default;
    Call& operator=(Call&& other) noexcept {
        end();
        line_ = std::move(other.line_);
        return *this;
    }
    ~Call() { end(); }

    [[nodiscard]] const std::shared_ptr<Line>& line() const noexcept { return line_; }

private:
    void end() noexcept {
        if (line_) line_->calls.fetch_sub(1, std::memory_order_release);
        line_.reset();
    }

    std::shared_ptr<Line> line_;
};

SenderGroup::SenderGroup(SenderGroupOptions options, OnFinal on_final, Reporter report)
    : options_(std::move(options)), on_final_(std::move(on_final)), report_(std::move(report)) {
    auto& incarnation = options_.sender.incarnation;
    while (incarnation == 0) incarnation = load_little<std::uint64_t>(Guid::random().bytes);
}

SenderGroup::~SenderGroup() { close(); }

Result<std::shared_ptr<SenderGroup::Line>> SenderGroup::open(const Peer& receiver) {
    auto line = std::make_shared<Line>();
    auto options = options_.sender;
    ++options_.sender.connection;  // a session of its own for the next
    options.host = receiver.events;
    options.hold_back_after = hold_back_;
    // The line outlives its sender, whose thread is the only one that calls this.
    options.on_final = [this, line = line.get()](Sequence sequence, std::optional<wire::RejectReason> rejected) {
        if (const auto ended = line->events.answered(sequence, rejected)) end(*line, ended->event, rejected);
    };
    line->sender = WEIR_TRY(Sender::open(std::move(options)));
    return line;
}

Result<> SenderGroup::set_receivers(Choice choice, std::vector<Peer> receivers) {
    const std::scoped_lock changing(changing_);
    if (closed_) return {};
    std::ranges::sort(receivers, {}, &Peer::name);
    hold_back_ = choice == Choice::by_event && receivers.size() > 1 ? options_.hold_back_after : 0ms;
    std::vector<Member> now;
    for (auto& receiver : receivers) {
        const auto known = std::ranges::find(members_, receiver.name, [](const Member& m) { return m.receiver.name; });
        auto& member = now.emplace_back(known == members_.end() ? Member{} : *known);
        if (member.line && member.receiver.events == receiver.events) continue;
        auto line = open(receiver);
        if (!line) {
            line.error().context = fmt::format("{}: {}", title(receiver), line.error().context);
            return std::unexpected(std::move(line.error()));
        }
        member.line = std::move(*line);
        member.receiver = std::move(receiver);
    }
    auto had = choice;
    {
        const std::scoped_lock lock(mutex_);
        members_.swap(now);
        had = std::exchange(choice_, choice);
        rooms_.fetch_add(1, std::memory_order_relaxed);
    }
    for (auto& before : now) {
        const auto after =
            std::ranges::find(members_, before.receiver.name, [](const Member& m) { return m.receiver.name; });
        if (after != members_.end() && after->line == before.line) continue;
        static_cast<void>(withdraw(before));
        if (after == members_.end()) lost(before.receiver, "left the partition", had);
    }
    send_withdrawn();
    room_.notify_all();
    return {};
}

bool SenderGroup::try_send(const EventDescription& event, std::span<const Piece> payload) {
    WEIR_ASSERT(!payload.empty());
    const auto size = size_of(payload);
    const auto before = bytes_.fetch_add(size, std::memory_order_relaxed);
    // One event may always be in flight, however large.
    if (options_.window == Bytes{0} || before == 0 || before + size <= options_.window.count()) {
        Lines full;
        while (full.size() < compared_max) {
            Call call;
            {
                const std::scoped_lock lock(mutex_);
                if (const auto* member = choose(event.global_id, event.sent_elsewhere, size, full))
                    call = Call(member->line);
            }
            if (!call.line()) break;
            const auto tried = try_send(*call.line(), event, payload, size);
            if (tried == Tried::sent) bytes_accepted_.fetch_add(size, std::memory_order_relaxed);
            if (tried != Tried::full) {
                accepted_.fetch_add(1, std::memory_order_relaxed);
                return true;
            }
            full.push_back(call.line());  // also with few bytes: of many small events, or behind one without an answer
        }
    }
    bytes_.fetch_sub(size, std::memory_order_relaxed);
    return false;
}

SenderGroup::Tried SenderGroup::try_send(Line& line, const EventDescription& event, std::span<const Piece> payload,
                                         std::uint64_t size) {
    line.bytes.fetch_add(size, std::memory_order_relaxed);
    const auto sent = line.sender->try_send(event, payload);
    if (sent && *sent) {
        if (const auto ended = line.events.sent(**sent, {payload.front().owner, size}))
            end(line, ended->event, ended->rejected);
        return Tried::sent;
    }
    if (sent || (sent.error().code != Errc::usage && sent.error().code != Errc::limit)) {
        line.bytes.fetch_sub(size, std::memory_order_relaxed);
        return Tried::full;
    }
    report_.warning(fmt::format("event {} cannot be sent: {}", number(event.global_id), sent.error().context));
    end(line, {payload.front().owner, size}, why_not(sent.error().code, event));
    return Tried::refused;
}

bool SenderGroup::send(const EventDescription& event, std::span<const Piece> payload, const std::stop_token& stop) {
    while (true) {
        const auto seen = rooms_.load(std::memory_order_acquire);
        if (try_send(event, payload)) return true;
        waits_.fetch_add(1, std::memory_order_relaxed);
        const ScopedWait wait(WaitCause::peer);
        waiting_.fetch_add(1, std::memory_order_seq_cst);
        std::unique_lock lock(mutex_);
        const bool ends = stop.stop_requested() || closed_ || failure_;
        if (!ends) room_.wait_for(lock, 20ms, [&] { return rooms_.load(std::memory_order_seq_cst) != seen; });
        waiting_.fetch_sub(1, std::memory_order_relaxed);
        if (ends) return false;
    }
}

void SenderGroup::end(Line& line, const InFlightEvent& event, std::optional<wire::RejectReason> rejected) {
    auto& counter = rejected ? rejected_[wire::index(*rejected)] : acknowledged_;
    counter.fetch_add(1, std::memory_order_relaxed);
    bytes_.fetch_sub(event.size, std::memory_order_relaxed);
    on_final_(event.owner, rejected);
    line.bytes.fetch_sub(event.size, std::memory_order_release);
    rooms_.fetch_add(1, std::memory_order_seq_cst);
    if (waiting_.load(std::memory_order_seq_cst) == 0) return;
    {
        const std::scoped_lock lock(mutex_);
    }  // a thread that saw no room before sleeps now
    room_.notify_one();
}

const SenderGroup::Member* SenderGroup::choose(GlobalEventId event, bool in_doubt, std::uint64_t size,
                                               const Lines& full) {
    if (choice_ == Choice::least_loaded) return least_loaded(size, full);
    const auto* owner = owner_of(event, in_doubt);
    if (owner == nullptr || owner->withdrawing) return nullptr;
    return std::ranges::find(full, owner->line) != full.end() ? nullptr : owner;
}

const SenderGroup::Member* SenderGroup::owner_of(GlobalEventId event, bool in_doubt) const {
    const Member* best = nullptr;
    std::uint64_t highest = 0;
    const auto away = in_doubt ? &Member::lost : &Member::passed_over;
    const bool all_away = std::ranges::all_of(members_, away);
    for (const auto& member : members_) {
        if (member.*away && !all_away) continue;
        const auto preference = wire::preference(event, member.receiver.name);
        if (best != nullptr && preference <= highest) continue;
        best = &member;
        highest = preference;
    }
    return best;
}

const SenderGroup::Member* SenderGroup::least_loaded(std::uint64_t size, const Lines& full) {
    const auto connected = [](const Member& member) { return member.line && member.line->sender->connected(); };
    const auto count = members_.size();
    const auto has_room = [&](const Member& member) { return std::ranges::find(full, member.line) == full.end(); };
    if (size <= batch_left_ && latest_ < count && connected(members_[latest_]) && !members_[latest_].withdrawing &&
        has_room(members_[latest_])) {
        batch_left_ -= size;
        return &members_[latest_];
    }
    const Member* best = nullptr;
    auto fewest = std::numeric_limits<std::uint64_t>::max();
    std::size_t compared = 0;  // that are connected
    for (std::size_t i = 1; i <= count && compared < compared_max; ++i) {
        const auto& member = members_[(latest_ + i) % count];
        if (!member.line || member.withdrawing) continue;
        const bool there = connected(member);
        compared += there ? 1U : 0U;
        if (!has_room(member)) continue;
        const auto load = member.line->bytes.load(std::memory_order_relaxed) | (there ? 0 : not_connected);
        if (load >= fewest) continue;
        best = &member;
        fewest = load;
    }
    if (fewest >= not_connected && compared > 0) return nullptr;  // one that is connected has room sooner
    if (best != nullptr) latest_ = static_cast<std::size_t>(best - members_.data());
    batch_left_ = batch - std::min(size, batch);
    return best;
}

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
                                    title(member.receiver), problem, pause / 1ms));
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
        size += size_of(event.payload);
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
             .what = fmt::format("{} {}", title(receiver), what),
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
        const auto size = size_of(event.payload);
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

bool SenderGroup::settled() const {
    const std::scoped_lock changing(changing_);
    if (options_.fail_after && failure()) return true;
    return withdrawn_.empty() && std::ranges::all_of(members_, [this](const Member& member) {
               if (!member.line || member.line->bytes.load(std::memory_order_acquire) == 0) return true;
               return !options_.reopen_after && member.line->sender->failure();  // else its events are sent again
           });
}

std::optional<Error> SenderGroup::failure() const {
    const std::scoped_lock lock(mutex_);
    return failure_;
}

void SenderGroup::close() {
    const std::scoped_lock changing(changing_);  // until the last thread has ended: who closes beside waits for that
    std::vector<Member> all;
    std::vector<Withdrawn> released;
    {
        const std::scoped_lock lock(mutex_);
        closed_ = true;
        rooms_.fetch_add(1, std::memory_order_relaxed);
        all.swap(members_);
        released.swap(withdrawn_);
    }
    room_.notify_all();
    for (const auto& member : all) {
        if (!member.line) continue;
        member.line->sender->close();
        const auto stats = member.line->sender->stats();
        const std::scoped_lock lock(mutex_);
        past_reconnects_ += stats.reconnects;
        past_sent_ += stats.sent;
        past_resent_ += stats.resent;
    }
}

SenderGroup::Stats SenderGroup::stats() const {
    Stats stats;
    auto ended = stats.acknowledged = acknowledged_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < rejected_.size(); ++i)
        ended += stats.rejected[i] = rejected_[i].load(std::memory_order_relaxed);
    stats.accepted =
        std::max(ended, accepted_.load(std::memory_order_relaxed));  // an answer may be faster than its send()
    stats.bytes_accepted = bytes_accepted_.load(std::memory_order_relaxed);
    stats.waits = waits_.load(std::memory_order_relaxed);
    stats.moved = moved_.load(std::memory_order_relaxed);
    stats.in_doubt = in_doubt_.load(std::memory_order_relaxed);
    const std::scoped_lock lock(mutex_);
    (closed_ ? stats.released : stats.held) = stats.accepted - ended;
    if (!closed_) stats.bytes_held = std::min(stats.bytes_accepted, bytes_.load(std::memory_order_relaxed));
    stats.reconnects = past_reconnects_;
    stats.sent = past_sent_;
    stats.resent = past_resent_;
    for (const auto& member : members_) {
        if (!member.line) continue;
        auto sender = member.line->sender->stats();
        stats.connected += sender.connected ? 1 : 0;
        stats.reconnects += sender.reconnects;
        stats.sent += sender.sent;
        stats.resent += sender.resent;
        if (!sender.last_problem.empty()) stats.last_problem = std::move(sender.last_problem);
    }
    return stats;
}

}  // namespace weir::delivery
