// SPDX-License-Identifier: Apache-2.0
#include "recorder_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/base/assert.hpp"
#include "weir/base/thread_account.hpp"
#include "weir/wire/message.hpp"

namespace weir::selection {
namespace {

using namespace std::chrono_literals;

/// What a sender keeps alive for us, so that an event that it gives back is whole again.
struct Kept {
    OutgoingEvent event;
};

/// A limit is that of the event's size, unless it is one of its tags.
wire::RejectReason why_not(Errc error, const delivery::EventDescription& event) {
    wire::EventMeta meta;
    meta.tags = event.tags;
    return error == Errc::limit && wire::event_fits(meta) ? wire::RejectReason::too_large : wire::RejectReason::bad_tag;
}

}  // namespace

RecorderOutput::RecorderOutput(RecorderOutputOptions options, Answered answered, std::function<void(std::string)> remark)
    : options_(std::move(options)), answered_(std::move(answered)), remark_(std::move(remark)) {}

RecorderOutput::~RecorderOutput() { close(); }

Result<std::shared_ptr<RecorderOutput::Line>> RecorderOutput::open(const std::string& recorder, const std::string& address) {
    auto line = std::make_shared<Line>();
    line->recorder = recorder;
    line->address = address;
    delivery::SenderOptions options;
    options.host = address;
    options.name = options_.name;
    options.run = options_.run;
    options.format = options_.format;
    options.connection = connections_++;
    options.window = options_.window;
    // The line outlives its sender, whose thread is the only one that calls this.
    options.on_final = [this, line = line.get()](Sequence sequence, std::optional<wire::RejectReason> rejected) {
        final(*line, sequence, rejected);
    };
    auto sender = delivery::Sender::open(std::move(options));
    if (!sender) return std::unexpected(sender.error());
    line->sender = std::move(*sender);
    return line;
}

Result<> RecorderOutput::set_recorders(const std::vector<Peer>& peers) {
    Lines gone;
    {
        const std::scoped_lock lock(mutex_);
        Lines stay;
        const auto same = [](const Peer& peer, const Line& line) {
            return peer.kind == StationKind::record && peer.name == line.recorder && peer.events == line.address;
        };
        for (const auto& line : lines_) {
            const bool is_there = std::ranges::any_of(peers, [&](const Peer& peer) { return same(peer, *line); });
            (is_there ? stay : gone).push_back(line);
        }
        to_open_.clear();
        for (const auto& peer : peers) {
            if (peer.kind != StationKind::record) continue;
            if (std::ranges::any_of(stay, [&](const auto& line) { return same(peer, *line); })) continue;
            auto line = open(peer.name, peer.events);
            if (!line) return fail(line.error().code, "recorder " + peer.name + ": " + line.error().context);
            stay.push_back(std::move(*line));
        }
        lines_ = std::move(stay);
    }
    for (const auto& line : gone) take_back(*line);
    room_.notify_all();
    return {};
}

void RecorderOutput::final(Line& line, Sequence sequence, std::optional<wire::RejectReason> rejected) {
    std::optional<delivery::Answer> answer;
    {
        const std::scoped_lock lock(line.mutex);
        if (const auto found = line.waiting.find(number(sequence)); found != line.waiting.end()) {
            answer = found->second;
            line.waiting.erase(found);
        }
    }
    if (answer) answered_(*answer, rejected);
    room_.notify_one();
}

RecorderOutput::Tried RecorderOutput::try_send(Line& line, OutgoingEvent& event) {
    const auto sending = accounted_lock(line.sending);
    if (line.failed.load(std::memory_order_acquire) || !line.sender) return Tried::failed;
    const auto sequence = line.next;
    {
        // Before it is sent: the answer may be here before try_send() returns.
        const std::scoped_lock lock(line.mutex);
        line.waiting.emplace(sequence, event.answer);
    }
    auto kept = std::make_shared<const Kept>(Kept{event});
    const delivery::Piece piece{kept->event.payload, kept};
    const auto sent = line.sender->try_send(kept->event.description, std::span(&piece, 1));
    if (sent && *sent) {
        WEIR_ASSERT(number(**sent) == sequence);
        ++line.next;
        return Tried::sent;
    }
    {
        const std::scoped_lock lock(line.mutex);
        line.waiting.erase(sequence);
    }
    if (sent) return Tried::full;
    if (sent.error().code == Errc::usage || sent.error().code == Errc::limit) {
        // It is this event that cannot be sent, to nobody: its builder hears so.
        if (remark_) remark_(fmt::format("event {} cannot be sent: {}", number(event.description.global_id), sent.error().context));
        answered_(event.answer, why_not(sent.error().code, event.description));
        return Tried::sent;
    }
    line.failed.store(true, std::memory_order_release);
    return Tried::failed;
}

bool RecorderOutput::try_any(OutgoingEvent& event) {
    struct Choice {
        std::shared_ptr<Line> line;
        bool connected;
        std::uint64_t held;
    };
    std::vector<Choice> choices;
    for (auto& line : lines()) {
        if (line->failed.load(std::memory_order_acquire)) continue;
        const auto stats = line->sender->stats();
        choices.push_back({line, stats.connected, stats.bytes_held});
    }
    std::ranges::sort(choices, [](const Choice& a, const Choice& b) {
        return a.connected != b.connected ? a.connected : a.held < b.held;
    });
    const bool any_connected = !choices.empty() && choices.front().connected;
    for (const auto& choice : choices) {
        if (any_connected && !choice.connected) break;  // one that is away gets events only when all are
        if (try_send(*choice.line, event) == Tried::sent) return true;
    }
    return false;
}

bool RecorderOutput::send(OutgoingEvent event, const std::stop_token& stop) {
    while (!try_any(event)) {
        waits_.fetch_add(1, std::memory_order_relaxed);
        const ScopedWait wait(WaitCause::peer);
        std::unique_lock lock(mutex_);
        if (stop.stop_requested() || closed_) return false;
        room_.wait_for(lock, 20ms);
    }
    return true;
}

/// Its events wait for the next look_after(). The line's thread has ended then: nothing is answered in between.
void RecorderOutput::take_back(Line& line) {
    line.failed.store(true, std::memory_order_release);
    std::vector<delivery::ReturnedEvent> events;
    {
        const std::scoped_lock sending(line.sending);
        events = line.sender->take_back();
    }
    const std::scoped_lock lock(mutex_);
    for (auto& event : events) {
        auto outgoing = static_cast<const Kept*>(event.payload.front().owner.get())->event;
        outgoing.description.sent_elsewhere = true;
        taken_back_.push_back(std::move(outgoing));
    }
    moved_.fetch_add(events.size(), std::memory_order_relaxed);
}

void RecorderOutput::look_after(SteadyTime now) {
    const auto all = lines();
    const bool any_connected = std::ranges::any_of(all, [](const auto& line) {
        return !line->failed.load(std::memory_order_acquire) && line->sender->stats().connected;
    });
    for (const auto& line : all) {
        const auto stats = line->sender->stats();
        if (stats.connected) line->away_since.reset();
        else if (!line->away_since) line->away_since = now;
        // A flush of nothing says whether the sender has failed for good.
        const bool failed = line->failed.load(std::memory_order_acquire) || !line->sender->flush(0ms);
        const bool away = any_connected && stats.held > 0 && line->away_since && now - *line->away_since >= options_.move_after;
        if (!failed && !away) continue;
        if (remark_)
            remark_(fmt::format("recorder {} {}; its {} events go to {}", line->recorder,
                                failed ? "refuses: " + stats.last_problem : "is away: " + stats.last_problem, stats.held,
                                any_connected ? "another one" : "whichever comes back"));
        take_back(*line);
        const std::scoped_lock lock(mutex_);
        // Meanwhile set_recorders() may have closed it, or given the recorder another address.
        if (std::erase(lines_, line) > 0) to_open_[line->recorder] = {line->address, now + options_.reopen_after};
    }
    {
        const std::scoped_lock lock(mutex_);
        for (auto it = to_open_.begin(); it != to_open_.end() && !closed_;) {
            if (it->second.second > now) {
                ++it;
                continue;
            }
            if (auto line = open(it->first, it->second.first)) lines_.push_back(std::move(*line));
            it = to_open_.erase(it);
        }
    }
    while (true) {
        std::optional<OutgoingEvent> event;
        {
            const std::scoped_lock lock(mutex_);
            if (taken_back_.empty()) return;
            event = std::move(taken_back_.front());
            taken_back_.pop_front();
        }
        if (try_any(*event)) continue;
        const std::scoped_lock lock(mutex_);
        taken_back_.push_front(std::move(*event));
        return;
    }
}

RecorderOutput::Lines RecorderOutput::lines() const {
    const std::scoped_lock lock(mutex_);
    return lines_;
}

void RecorderOutput::close() {
    Lines all;
    std::deque<OutgoingEvent> released;
    {
        const std::scoped_lock lock(mutex_);
        closed_ = true;
        all.swap(lines_);
        released.swap(taken_back_);
        to_open_.clear();
    }
    room_.notify_all();
    for (const auto& line : all) {
        line->failed.store(true, std::memory_order_release);
        line->sender->close();
    }
}

RecorderOutput::Stats RecorderOutput::stats() const {
    Stats stats{.held = 0, .moved = moved_.load(std::memory_order_relaxed), .connected = 0,
                .waits = waits_.load(std::memory_order_relaxed)};
    for (const auto& line : lines()) {
        const auto sender = line->sender->stats();
        stats.held += sender.held;
        stats.connected += sender.connected ? 1 : 0;
    }
    const std::scoped_lock lock(mutex_);
    stats.held += taken_back_.size();
    return stats;
}

}  // namespace weir::selection
