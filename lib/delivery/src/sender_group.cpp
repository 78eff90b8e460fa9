// SPDX-License-Identifier: Apache-2.0
#include "weir/delivery/sender_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/base/assert.hpp"
#include "weir/base/thread_account.hpp"
#include "weir/wire/message.hpp"
#include "weir/wire/recorder_choice.hpp"

namespace weir::delivery {
namespace {

using namespace std::chrono_literals;

/// What one look adds to the time that a recorder is away: a standstill of this process says nothing about it.
constexpr auto look_counts_max = 1s;

/// What a sender keeps alive for us, so that an event that it gives back is whole again.
struct Kept {
    OutgoingEvent event;
};

/// A limit is that of the event's size, unless it is one of its tags.
wire::RejectReason why_not(Errc error, const EventDescription& event) {
    wire::EventMeta meta;
    meta.tags = event.tags;
    return error == Errc::limit && wire::event_fits(meta) ? wire::RejectReason::too_large : wire::RejectReason::bad_tag;
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

RecorderOutput::RecorderOutput(RecorderOutputOptions options, Answered answered, std::function<void(std::string)> remark)
    : options_(std::move(options)), answered_(std::move(answered)), remark_(std::move(remark)) {}

RecorderOutput::~RecorderOutput() { close(); }

Result<std::shared_ptr<RecorderOutput::Line>> RecorderOutput::open(const std::string& address) {
    auto line = std::make_shared<Line>();
    SenderOptions options;
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
    auto sender = Sender::open(std::move(options));
    if (!sender) return std::unexpected(sender.error());
    line->sender = std::move(*sender);
    return line;
}

Result<> RecorderOutput::set_recorders(const std::vector<Peer>& peers) {
    std::vector<Recorder> gone;  // they left, or have another address now
    {
        const std::scoped_lock lock(mutex_);
        if (closed_) return {};
        std::vector<Recorder> now;
        for (const auto& peer : peers) {
            if (peer.kind != StationKind::record) continue;
            const auto known = std::ranges::find(recorders_, peer.name, &Recorder::name);
            if (known != recorders_.end() && known->address == peer.events) {
                now.push_back(*known);
                continue;
            }
            auto line = open(peer.events);
            if (!line) return fail(line.error().code, "recorder " + peer.name + ": " + line.error().context);
            now.push_back({.name = peer.name, .address = peer.events, .line = std::move(*line)});
            if (known != recorders_.end()) {
                now.back().away = known->away;
                now.back().lost = known->lost;
            }
        }
        std::ranges::sort(now, {}, &Recorder::name);
        for (auto& recorder : recorders_) {
            const auto stays = std::ranges::find(now, recorder.name, &Recorder::name);
            if (stays == now.end() || stays->address != recorder.address) gone.push_back(std::move(recorder));
        }
        recorders_ = std::move(now);
    }
    for (const auto& recorder : gone) {
        std::vector<TakenBack> events;
        if (recorder.line) events = take_back(recorder.name, *recorder.line);
        std::string text;
        {
            const std::scoped_lock lock(mutex_);
            std::ranges::move(events, std::back_inserter(taken_back_));
            if (std::ranges::find(recorders_, recorder.name, &Recorder::name) == recorders_.end())
                text = lost(recorder.name, "left the partition");
        }
        if (remark_ && !text.empty()) remark_(std::move(text));
    }
    room_.notify_all();
    return {};
}

void RecorderOutput::final(Line& line, Sequence sequence, std::optional<wire::RejectReason> rejected) {
    std::optional<Answer> answer;
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
    if (line.failed.load(std::memory_order_acquire)) return Tried::failed;
    const auto sequence = line.next;
    {
        // Before it is sent: the answer may be here before try_send() returns.
        const std::scoped_lock lock(line.mutex);
        line.waiting.emplace(sequence, event.answer);
    }
    auto kept = std::make_shared<const Kept>(Kept{event});
    const Piece piece{kept->event.payload, kept};
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

RecorderOutput::Recorder* RecorderOutput::recorder_of(GlobalEventId event) {
    Recorder* best = nullptr;
    std::uint64_t highest = 0;
    const bool all_lost = std::ranges::all_of(recorders_, &Recorder::lost);
    for (auto& recorder : recorders_) {
        if (recorder.lost && !all_lost) continue;
        const auto preference = wire::preference(event, recorder.name);
        if (best != nullptr && preference <= highest) continue;
        best = &recorder;
        highest = preference;
    }
    return best;
}

bool RecorderOutput::send(OutgoingEvent event, const std::stop_token& stop) {
    while (true) {
        std::shared_ptr<Line> line;
        {
            const std::scoped_lock lock(mutex_);
            if (const auto* recorder = recorder_of(event.description.global_id)) line = recorder->line;
        }
        if (line && try_send(*line, event) == Tried::sent) return true;
        waits_.fetch_add(1, std::memory_order_relaxed);
        const ScopedWait wait(WaitCause::peer);
        std::unique_lock lock(mutex_);
        if (stop.stop_requested() || closed_) return false;
        room_.wait_for(lock, 20ms);
    }
}

/// The line's thread has ended then: nothing is answered in between.
std::vector<RecorderOutput::TakenBack> RecorderOutput::take_back(const std::string& recorder, Line& line) {
    line.failed.store(true, std::memory_order_release);
    std::vector<ReturnedEvent> events;
    {
        const std::scoped_lock sending(line.sending);
        events = line.sender->take_back();
    }
    std::vector<TakenBack> taken;
    taken.reserve(events.size());
    for (const auto& event : events) {
        auto outgoing = static_cast<const Kept*>(event.payload.front().owner.get())->event;
        outgoing.description.sent_elsewhere = event.description.sent_elsewhere;
        taken.push_back({std::move(outgoing), recorder});
    }
    return taken;
}

/// With the mutex: its events go to the others from now on. The line for an operator.
std::string RecorderOutput::lost(const std::string& recorder, const std::string& why) {
    std::vector<std::uint64_t> in_doubt;
    std::size_t events = 0;
    for (const auto& taken : taken_back_) {
        if (taken.recorder != recorder) continue;
        ++events;
        if (taken.event.description.sent_elsewhere) in_doubt.push_back(number(taken.event.description.global_id));
    }
    in_doubt_.fetch_add(in_doubt.size(), std::memory_order_relaxed);
    auto text = fmt::format("recorder {} {}; its {} events go to the others", recorder, why, events);
    const auto count = in_doubt.size();
    if (count > 0) text += fmt::format("; {} of them were sent to it and may be stored there too: {}", count, listed(std::move(in_doubt)));
    return text;
}

void RecorderOutput::look_after(SteadyTime now) {
    std::vector<Recorder> all;
    {
        const std::scoped_lock lock(mutex_);
        all = recorders_;
    }
    const auto connected = [](const Recorder& recorder) {
        return recorder.line && !recorder.line->failed.load(std::memory_order_acquire) && recorder.line->sender->stats().connected;
    };
    const bool any_connected = std::ranges::any_of(all, connected);
    const auto step = std::min<SteadyTime::duration>(now - looked_at_.value_or(now), look_counts_max);
    looked_at_ = now;
    for (auto& recorder : all) {
        const auto before = recorder.line;
        if (connected(recorder)) {
            recorder.away = {};
            recorder.lost = false;
        } else if (any_connected) {
            recorder.away += step;
        }
        // A flush of nothing says whether the sender has failed for good.
        const bool failed = before && (before->failed.load(std::memory_order_acquire) || !before->sender->flush(0ms));
        const bool is_lost = !recorder.lost && any_connected && recorder.away >= options_.move_after;
        std::vector<TakenBack> events;
        std::string problem = "it refuses", text;
        if (before && (failed || is_lost)) {
            problem = before->sender->stats().last_problem;
            events = take_back(recorder.name, *before);
            text = fmt::format("recorder {} refuses: {}; its {} events wait for it", recorder.name, problem, events.size());
            recorder.line.reset();
            recorder.open_at = now + options_.reopen_after;
        }
        const bool opens = !before && recorder.open_at <= now;
        recorder.lost = recorder.lost || is_lost;
        {
            const std::scoped_lock lock(mutex_);
            std::ranges::move(events, std::back_inserter(taken_back_));
            // Meanwhile set_recorders() may have removed it, or opened another line to it.
            const auto known = std::ranges::find(recorders_, recorder.name, &Recorder::name);
            if (closed_ || known == recorders_.end() || known->line != before || known->address != recorder.address) continue;
            if (is_lost)
                text = lost(recorder.name, fmt::format("is away for {} ms ({})", recorder.away / 1ms, problem));
            if (opens) {
                if (auto line = open(recorder.address)) recorder.line = std::move(*line);
            }
            *known = std::move(recorder);
        }
        if (remark_ && !text.empty()) remark_(std::move(text));
    }
    send_taken_back();
}

void RecorderOutput::send_taken_back() {
    std::vector<TakenBack> events;
    {
        const std::scoped_lock lock(mutex_);
        events.swap(taken_back_);
    }
    if (events.empty()) return;
    std::vector<Line*> full;  // this time
    const auto sent = [&](TakenBack& taken) {
        std::shared_ptr<Line> line;
        bool moves = false;
        {
            const std::scoped_lock lock(mutex_);
            if (const auto* recorder = recorder_of(taken.event.description.global_id)) {
                line = recorder->line;
                moves = recorder->name != taken.recorder;
            }
        }
        if (!line || std::ranges::find(full, line.get()) != full.end()) return false;
        if (try_send(*line, taken.event) != Tried::sent) {
            full.push_back(line.get());
            return false;
        }
        if (moves) moved_.fetch_add(1, std::memory_order_relaxed);
        return true;
    };
    std::erase_if(events, sent);
    const std::scoped_lock lock(mutex_);
    if (!closed_) std::ranges::move(events, std::back_inserter(taken_back_));
}

void RecorderOutput::close() {
    std::vector<Recorder> all;
    std::vector<TakenBack> released;
    {
        const std::scoped_lock lock(mutex_);
        closed_ = true;
        all.swap(recorders_);
        released.swap(taken_back_);
    }
    room_.notify_all();
    for (const auto& recorder : all) {
        if (!recorder.line) continue;
        recorder.line->failed.store(true, std::memory_order_release);
        recorder.line->sender->close();
    }
}

RecorderOutput::Stats RecorderOutput::stats() const {
    Stats stats{.waits = waits_.load(std::memory_order_relaxed), .moved = moved_.load(std::memory_order_relaxed),
                .in_doubt = in_doubt_.load(std::memory_order_relaxed)};
    const std::scoped_lock lock(mutex_);
    for (const auto& recorder : recorders_) {
        if (!recorder.line) continue;
        const auto sender = recorder.line->sender->stats();
        stats.held += sender.held;
        stats.connected += sender.connected ? 1 : 0;
    }
    stats.held += taken_back_.size();
    return stats;
}

}  // namespace weir::delivery
