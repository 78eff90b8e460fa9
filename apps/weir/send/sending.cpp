// SPDX-License-Identifier: Apache-2.0
#include "send/sending.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/base/stoppable_sleep.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t sending_threads_max =
    16;  // that make events and their checksums; no more than cores or connections
constexpr Bytes windows_together = 256_MiB;
constexpr Bytes window_min = 4_MiB;
constexpr std::chrono::nanoseconds wait_for_memory = 2ms;  // of the source; it comes back through any thread
constexpr std::chrono::nanoseconds wait_max = 20ms;

std::int64_t nanoseconds(SteadyTime time) { return time.time_since_epoch().count(); }

/// As messages name it.
std::string connection_name(const SendingOptions& options, const std::string& to, std::uint32_t i) {
    return options.connections == 1 ? to : fmt::format("{}, connection {}", to, i + 1);
}

/// With one recorder its refusal, or its absence, ends all; with several that of all of them.
delivery::SenderGroupOptions group_options(const SendingOptions& options) {
    if (options.to.size() == 1) {
        delivery::SenderGroupOptions one{.move_after = 0ms, .reopen_after = std::nullopt};
        one.sender.give_up_after = options.give_up_after;
        return one;
    }
    delivery::SenderGroupOptions several{.move_after = options.give_up_after, .fail_after = options.give_up_after};
    several.sender.backoff_last = 1s;
    return several;
}

/// What keeps an event's bytes alive, when the event was due, and how many streams it is for.
struct Sent {
    SteadyTime due;
    std::size_t copies;
    std::shared_ptr<const void> owner;
};

}  // namespace

Sending::Sending(SendingOptions options, workload::EventSource& source, const Clock& clock)
    : options_(std::move(options)), source_(source), clock_(clock), pacer_(options_.rate_hz) {}

Result<std::unique_ptr<Sending>> Sending::start(SendingOptions options, workload::EventSource& source,
                                                const Clock& clock) {
    const auto connections = options.connections * options.to.size();
    if (connections == 0 || connections > connections_max)
        return weir::fail(Errc::usage,
                          fmt::format("{} connections cannot be had; choose 1 to {}", connections, connections_max));
    if (options.window == Bytes{0}) options.window = std::max(windows_together / connections, window_min);
    std::unique_ptr<Sending> sending(new Sending(std::move(options), source, clock));
    WEIR_TRY(sending->open());
    return sending;
}

Result<> Sending::open() {
    auto options = group_options(options_);
    options.sender.name = options_.name;
    options.sender.tls = options_.tls;
    options.sender.run = source_.run();
    options.sender.format = wire::parse_event_format(event::name(source_.format())).value();
    options.sender.window = options_.window;
    group_.emplace(
        std::move(options),
        [this](const std::shared_ptr<const void>& owner, std::optional<wire::RejectReason> rejected) {
            const auto now = clock_.now();
            last_answer_ns_.store(nanoseconds(now), std::memory_order_relaxed);
            if (rejected) return;
            const auto& sent = *static_cast<const Sent*>(owner.get());
            answer_times_.add(now - sent.due);
            copies_.fetch_add(sent.copies, std::memory_order_relaxed);
        },
        [this](const Report& report) {
            if (report.key.starts_with(delivery::SenderGroup::receiver_report)) {
                if (options_.to.size() > 1) options_.report(report);
                return;
            }
            const std::scoped_lock lock(mutex_);
            if (first_refusal_.empty()) first_refusal_ = text_of(report);
        });
    std::vector<Peer> connections;
    for (const auto& to : options_.to) {
        for (std::uint32_t i = 0; i < options_.connections; ++i)
            connections.push_back(
                {.name = connection_name(options_, to, i), .kind = StationKind::record, .events = to});
    }
    const auto lines = static_cast<std::uint32_t>(connections.size());
    WEIR_TRY(group_->set_receivers(delivery::Choice::least_loaded, std::move(connections)));

    sending_ = std::min({lines, sending_threads_max, std::max(std::thread::hardware_concurrency(), 1U)});
    for (auto i = sending_; i > 0; --i) threads_.emplace_back([this] { send_events(); });
    threads_.emplace_back([this] { wait_for_answers(); });
    return {};
}

void Sending::send_events() {
    while (!stop_.stop_requested()) {
        const auto n = next_event_.fetch_add(1, std::memory_order_relaxed);
        if (options_.events && n >= *options_.events) break;
        auto event = source_.make(n);
        for (; !event && stoppable_sleep(wait_for_memory, stop_.get_token()); event = source_.make(n)) continue;
        if (!event || !send(std::move(*event))) break;
    }
    const std::scoped_lock lock(mutex_);
    --sending_;
    changed_.notify_all();
}

/// False: the event was not sent, and none comes after it.
bool Sending::send(workload::SourcedEvent event) {
    auto due = clock_.now();
    for (auto early = pacer_.try_take(due); early.count() > 0; early = pacer_.try_take(due)) {
        if (!stoppable_sleep(std::min(early, wait_max), stop_.get_token())) return false;
        due = clock_.now();
    }
    const delivery::Piece payload{
        .data = event.data,
        .owner = std::allocate_shared<const Sent>(memory::MigratingAllocator<Sent>(pool_), due, event.tags.size(),
                                                  std::move(event.owner))};
    if (!group_->send({.global_id = event.global_id,
                       .level1_id = event.level1_id,
                       .lumi_block = event.lumi_block,
                       .tags = std::move(event.tags)},
                      std::span(&payload, 1), stop_.get_token()))
        return false;
    std::int64_t unset = 0;
    first_sent_ns_.compare_exchange_strong(unset, nanoseconds(due), std::memory_order_relaxed);
    return true;
}

void Sending::wait_for_answers() {
    while (true) {
        const auto now = clock_.now();
        group_->look_after(now);
        if (group_->failure()) stop();
        std::unique_lock lock(mutex_);
        if (sending_ == 0 && ((answers_until_ && now >= *answers_until_) || group_->settled())) break;
        changed_.wait_for(lock, wait_max);
    }
    const std::scoped_lock lock(mutex_);
    ended_ns_.store(nanoseconds(clock_.now()), std::memory_order_relaxed);
    ended_ = true;
    changed_.notify_all();
}

bool Sending::wait(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, [this] { return ended_; });
}

void Sending::stop() { stop_by(clock_.now() + options_.answers_max); }

void Sending::abandon() { stop_by(SteadyTime::min()); }

void Sending::stop_by(SteadyTime answers_until) {
    {
        const std::scoped_lock lock(mutex_);
        answers_until_ = std::min(answers_until_.value_or(answers_until), answers_until);
    }
    stop_.request_stop();
    changed_.notify_all();
}

std::optional<Error> Sending::failure() const { return group_->failure(); }

SendingCounts Sending::counts() const {
    auto stats = group_->stats();
    SendingCounts counts{.sent = stats.accepted,
                         .acknowledged = stats.acknowledged,
                         .unanswered = stats.held,
                         .rejected_by = stats.rejected,
                         .copies = copies_.load(std::memory_order_relaxed),
                         .bytes = stats.bytes_accepted,
                         .bytes_answered = stats.bytes_accepted - stats.bytes_held,
                         .resent = stats.resent,
                         .reconnects = stats.reconnects,
                         .moved = stats.moved,
                         .in_doubt = stats.in_doubt,
                         .connected = static_cast<std::uint32_t>(stats.connected),
                         .last_problem = std::move(stats.last_problem)};
    counts.rejected = counts.sent - counts.acknowledged - counts.unanswered;
    {
        const std::scoped_lock lock(mutex_);
        counts.first_refusal = first_refusal_;
    }
    if (const auto first = first_sent_ns_.load(std::memory_order_relaxed); first != 0) {
        const auto end = ended_ns_.load(std::memory_order_relaxed);
        const auto last = counts.unanswered == 0 ? last_answer_ns_.load(std::memory_order_relaxed)
                          : end != 0             ? end
                                                 : nanoseconds(clock_.now());
        counts.seconds = static_cast<double>(std::max<std::int64_t>(last - first, 0)) / 1e9;
    }
    return counts;
}

Sending::~Sending() { abandon(); }  // the threads end first, then the senders

const Clock& Sending::default_clock() {
    static const SystemClock clock;
    return clock;
}

}  // namespace weir::app
