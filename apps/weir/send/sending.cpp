// SPDX-License-Identifier: Apache-2.0
#include "send/sending.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "weir/base/assert.hpp"
#include "weir/base/endian.hpp"
#include "weir/base/guid.hpp"
#include "weir/delivery/sender.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t threads_alone_max = 64;  // up to here a thread a connection
constexpr std::uint32_t threads_shared = 16;     // beyond
constexpr Bytes windows_together = 256_MiB;
constexpr Bytes window_min = 4_MiB;
constexpr int turns_max = 16;  // events that a lane sends before the next lane of its thread comes
// Memory of the source may come back through another thread, which does not wake this one.
constexpr std::chrono::nanoseconds wait_for_memory = 2ms;
constexpr std::chrono::nanoseconds wait_max = 50ms;

std::int64_t nanoseconds(SteadyTime time) { return time.time_since_epoch().count(); }

/// The same format in the words of the delivery protocol.
wire::EventFormat to_wire(event::Format format) noexcept {
    switch (format) {
        case event::Format::event_5_0:
            return wire::EventFormat::event_5_0;
        case event::Format::event_3_0:
            return wire::EventFormat::event_3_0;
        case event::Format::opaque:
            break;
    }
    return wire::EventFormat::opaque;
}

/// An event as a sender takes it.
struct OutgoingEvent {
    delivery::EventDescription description;
    delivery::Piece payload;

    explicit OutgoingEvent(workload::SourcedEvent event)
        : description{.global_id = event.global_id,
                      .level1_id = event.level1_id,
                      .lumi_block = event.lumi_block,
                      .tags = std::move(event.tags)},
          payload{.data = event.data, .owner = std::move(event.owner)} {}
};

}  // namespace

/// A thread's place to wait, and what wakes it: an answer to one of its lanes, or the end.
class Sending::Pump {
public:
    void wake() {
        {
            const std::scoped_lock lock(mutex_);
            woken_ = true;
        }
        changed_.notify_one();
    }

    void wait(std::chrono::nanoseconds at_most) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, at_most, [this] { return woken_; });
        woken_ = false;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool woken_ = false;
};

/// One connection. Used by one pump; only the count of answers comes from the sender's thread.
class Sending::Lane {
public:
    Lane(Sending& all, Pump& pump) : all_(all), pump_(pump) {}

    [[nodiscard]] Result<> open(delivery::SenderOptions options) {
        options.on_final = [this](Sequence sequence, std::optional<wire::RejectReason>) {
            const auto now = all_.clock_.now();
            all_.last_answer_ns_.store(nanoseconds(now), std::memory_order_relaxed);
            all_.answer_times_.add(now - asked_at(sequence));
            answered_.fetch_add(1, std::memory_order_release);  // acquired in answered()
            pump_.wake();
        };
        auto sender = delivery::Sender::open(std::move(options));
        if (!sender) return std::unexpected(std::move(sender.error()));
        sender_ = std::move(*sender);
        return {};
    }

    struct Step {
        bool moved = false;                        // something was done: come again at once
        bool ended = false;                        // nothing is left to do
        std::chrono::nanoseconds wait = wait_max;  // when neither
    };

    [[nodiscard]] Step step() {
        const auto phase = all_.phase_.load(std::memory_order_acquire);
        if (phase == Phase::abandoned) return {.ended = true};
        if (phase == Phase::stopping) {
            event_.reset();  // its number is not sent
            finished_ = true;
        }
        return finished_ ? wait_for_answers(phase) : send_some();
    }

    [[nodiscard]] delivery::SenderStats stats() const { return sender_->stats(); }

private:
    Step send_some() {
        for (int turn = 0; turn < turns_max; ++turn) {
            if (auto blocked = send_one()) {
                blocked->moved = turn > 0 || finished_;
                return *blocked;
            }
        }
        return {.moved = true};
    }

    /// Nothing when an event was sent; else why not.
    std::optional<Step> send_one() {
        if (!number_) {
            const auto n = all_.next_event_.fetch_add(1, std::memory_order_relaxed);
            if (all_.options_.events && n >= *all_.options_.events) {
                finished_ = true;
                return Step{};
            }
            number_ = n;
        }
        if (!event_) {
            if (auto made = all_.source_.make(*number_)) event_.emplace(std::move(*made));
        }
        if (!event_) return Step{.wait = wait_for_memory};
        const auto now = all_.clock_.now();
        if (!paced_) {
            if (const auto early = all_.pacer_.try_take(now); early.count() > 0)
                return Step{.wait = std::min(early, wait_max)};
            paced_ = true;
            due_ = now;
        }
        {
            const std::scoped_lock lock(asked_mutex_);  // before the answer can come
            asked_.push_back(due_);
        }
        auto sequence = sender_->try_send(event_->description, std::span(&event_->payload, 1));
        if (!sequence || !*sequence) {
            const std::scoped_lock lock(asked_mutex_);
            asked_.pop_back();
        }
        if (!sequence && sequence.error().code == Errc::limit) {  // costs this event, not those behind it
            all_.refuse(std::move(sequence.error()));
            next();
            return std::nullopt;
        }
        if (!sequence) {
            fail(std::move(sequence.error()));
            return Step{};
        }
        if (!*sequence) return Step{};  // the window is full; an answer wakes us
        all_.copies_.fetch_add(event_->description.tags.size(), std::memory_order_relaxed);
        std::int64_t unset = 0;
        all_.first_sent_ns_.compare_exchange_strong(unset, nanoseconds(now), std::memory_order_relaxed);
        next();
        ++sent_;
        return std::nullopt;
    }

    /// When an event was due. What is answered in front is forgotten.
    SteadyTime asked_at(Sequence sequence) {
        const std::scoped_lock lock(asked_mutex_);
        auto& asked = asked_.at(weir::number(sequence) - first_asked_);
        const auto at = std::exchange(asked, SteadyTime::max());
        while (!asked_.empty() && asked_.front() == SteadyTime::max()) {
            asked_.pop_front();
            ++first_asked_;
        }
        return at;
    }

    void next() {
        event_.reset();
        number_.reset();
        paced_ = false;
    }

    Step wait_for_answers(Phase phase) {
        const auto now = all_.clock_.now();
        if (phase == Phase::stopping && nanoseconds(now) >= all_.answers_until_ns_.load(std::memory_order_relaxed))
            return {.ended = true};
        auto flushed = sender_->flush(0ms);
        if (!flushed) {
            fail(std::move(flushed.error()));
            return {.ended = true};
        }
        return {.ended = *flushed && answered_.load(std::memory_order_acquire) == sent_};
    }

    void fail(Error error) {
        finished_ = true;
        event_.reset();
        all_.fail(std::move(error));
    }

    Sending& all_;
    Pump& pump_;
    std::optional<std::uint64_t> number_;  // of the event that comes next
    std::optional<OutgoingEvent> event_;
    bool paced_ = false;     // it has its moment already
    SteadyTime due_;         // that moment
    bool finished_ = false;  // no more events, only answers
    std::uint64_t sent_ = 0;
    std::atomic<std::uint64_t> answered_{0};
    std::mutex asked_mutex_;
    std::deque<SteadyTime> asked_;    // of each event from first_asked_ on; max(): answered
    std::uint64_t first_asked_ = 1;  // a sender's sequences begin at 1
    std::unique_ptr<delivery::Sender> sender_;  // the last member: its thread counts into the others
};

Sending::Sending(SendingOptions options, workload::EventSource& source, const Clock& clock)
    : options_(std::move(options)), source_(source), clock_(clock), pacer_(options_.rate_hz) {}

Result<std::unique_ptr<Sending>> Sending::start(SendingOptions options, workload::EventSource& source, const Clock& clock) {
    if (options.connections == 0 || options.connections > connections_max)
        return weir::fail(Errc::usage, fmt::format("{} connections cannot be had; choose 1 to {}", options.connections,
                                                   connections_max));
    if (options.window == Bytes{0}) options.window = std::max(windows_together / options.connections, window_min);
    std::unique_ptr<Sending> sending(new Sending(std::move(options), source, clock));
    if (auto opened = sending->open_lanes(); !opened) return std::unexpected(std::move(opened.error()));
    sending->start_pumps();
    return sending;
}

Result<> Sending::open_lanes() {
    const auto pumps = options_.connections <= threads_alone_max ? options_.connections : threads_shared;
    for (std::uint32_t i = 0; i < pumps; ++i) pumps_.push_back(std::make_unique<Pump>());
    std::uint64_t incarnation = 0;
    while (incarnation == 0) incarnation = load_little<std::uint64_t>(Guid::random().bytes);
    for (std::uint32_t i = 0; i < options_.connections; ++i) {
        auto& lane = *lanes_.emplace_back(std::make_unique<Lane>(*this, *pumps_[i % pumps]));
        delivery::SenderOptions options;
        options.host = options_.to;
        options.name = options_.name;
        options.tls = options_.tls;
        options.run = source_.run();
        options.format = to_wire(source_.format());
        options.incarnation = incarnation;
        options.connection = i;
        options.window = options_.window;
        options.give_up_after = options_.give_up_after;
        if (auto opened = lane.open(std::move(options)); !opened) return opened;
    }
    return {};
}

void Sending::start_pumps() {
    pumps_running_ = pumps_.size();
    for (std::size_t i = 0; i < pumps_.size(); ++i) {
        std::vector<Lane*> mine;
        for (std::size_t k = i; k < lanes_.size(); k += pumps_.size()) mine.push_back(lanes_[k].get());
        threads_.emplace_back([this, &pump = *pumps_[i], mine = std::move(mine)]() mutable {
            while (!mine.empty()) {
                bool moved = false;
                auto wait = wait_max;
                std::erase_if(mine, [&](Lane* lane) {
                    const auto step = lane->step();
                    moved = moved || step.moved;
                    wait = std::min(wait, step.wait);
                    return step.ended;
                });
                if (!moved && !mine.empty()) pump.wait(wait);
            }
            pump_ended();
        });
    }
}

void Sending::pump_ended() {
    const std::scoped_lock lock(mutex_);
    if (--pumps_running_ == 0) ended_ns_.store(nanoseconds(clock_.now()), std::memory_order_relaxed);
    ended_.notify_all();
}

bool Sending::wait(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, timeout, [this] { return pumps_running_ == 0; });
}

void Sending::stop() {
    std::int64_t unset = 0;  // the first stop counts
    answers_until_ns_.compare_exchange_strong(unset, nanoseconds(clock_.now() + options_.answers_max),
                                              std::memory_order_relaxed);
    auto expected = Phase::sending;
    phase_.compare_exchange_strong(expected, Phase::stopping, std::memory_order_release, std::memory_order_relaxed);
    wake_all();
}

void Sending::abandon() {
    phase_.store(Phase::abandoned, std::memory_order_release);
    wake_all();
}

void Sending::fail(Error error) {
    {
        const std::scoped_lock lock(mutex_);
        if (!failure_) failure_ = std::move(error);
    }
    stop();
}

void Sending::refuse(Error error) {
    const std::scoped_lock lock(mutex_);
    if (refused_++ == 0) first_refusal_ = std::move(error.context);
}

void Sending::wake_all() {
    for (const auto& pump : pumps_) pump->wake();
}

std::optional<Error> Sending::failure() const {
    const std::scoped_lock lock(mutex_);
    return failure_;
}

SendingCounts Sending::counts() const {
    SendingCounts counts;
    for (const auto& lane : lanes_) {
        auto stats = lane->stats();
        counts.sent += stats.accepted;
        counts.acknowledged += stats.acknowledged;
        for (std::size_t i = 0; i < stats.rejected.size(); ++i) {
            counts.rejected_by[i] += stats.rejected[i];
            counts.rejected += stats.rejected[i];
        }
        counts.bytes += stats.bytes_accepted;
        counts.bytes_answered += stats.bytes_accepted - stats.bytes_held;
        counts.resent += stats.resent;
        counts.reconnects += stats.reconnects;
        counts.connected += stats.connected ? 1U : 0U;
        if (!stats.last_problem.empty()) counts.last_problem = std::move(stats.last_problem);
    }
    {
        const std::scoped_lock lock(mutex_);
        counts.sent += refused_;
        counts.rejected += refused_;
        counts.rejected_by[wire::index(wire::RejectReason::too_large)] += refused_;
        counts.first_refusal = first_refusal_;
    }
    counts.copies = copies_.load(std::memory_order_relaxed);
    counts.unanswered = counts.sent - counts.acknowledged - counts.rejected;
    if (const auto first = first_sent_ns_.load(std::memory_order_relaxed); first != 0) {
        const auto end = ended_ns_.load(std::memory_order_relaxed);
        const auto last = counts.unanswered == 0 ? last_answer_ns_.load(std::memory_order_relaxed)
                          : end != 0             ? end
                                                 : nanoseconds(clock_.now());
        counts.seconds = static_cast<double>(std::max<std::int64_t>(last - first, 0)) / 1e9;
    }
    return counts;
}

Sending::~Sending() { abandon(); }  // the threads end first, then the lanes with their senders

const Clock& Sending::default_clock() {
    static const SystemClock clock;
    return clock;
}

}  // namespace weir::app
