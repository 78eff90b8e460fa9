// SPDX-License-Identifier: Apache-2.0
#include "weir/delivery/sender_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "sending/sender_group_line.hpp"
#include "weir/base/assert.hpp"
#include "weir/base/endian.hpp"
#include "weir/base/guid.hpp"
#include "weir/base/thread_account.hpp"
#include "weir/wire/message.hpp"
#include "weir/wire/recorder_choice.hpp"

namespace weir::delivery {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t compared_max = 16;  // receivers for one event: of a thousand, these are enough for an even load
// Small events go to a receiver in batches: each change of receiver costs a call of the system and wakes a thread.
constexpr std::uint64_t batch = 64 << 10;
constexpr std::uint64_t not_connected = std::uint64_t{1} << 63;  // comes after every one that is

/// A limit is that of the event's size, unless it is one of its tags; what else cannot be sent has no payload.
wire::RejectReason why_not(Errc error, const EventDescription& event) {
    wire::EventMeta meta;
    meta.tags = event.tags;
    if (!wire::event_fits(meta)) return wire::RejectReason::bad_tag;
    return error == Errc::limit ? wire::RejectReason::too_large : wire::RejectReason::malformed_event;
}

}  // namespace

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
            line.error().context = fmt::format("{}: {}", title_of(receiver), line.error().context);
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
    const auto size = payload_size(payload);
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
