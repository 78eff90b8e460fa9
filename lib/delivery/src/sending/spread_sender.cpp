// SPDX-License-Identifier: Apache-2.0
#include "sending/spread_sender.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "weir/base/clock.hpp"
#include "weir/base/named_thread.hpp"
#include "weir/base/stoppable_sleep.hpp"
#include "weir/delivery/run_inquiry.hpp"
#include "weir/delivery/sender_group.hpp"
#include "weir/wire/message.hpp"

namespace weir::delivery {
namespace {

using namespace std::chrono_literals;

constexpr auto care_interval = 10ms;
constexpr auto backoff_longest = 1s;  // a recorder that is back is soon found

Result<> check(const SenderOptions& options, const std::vector<std::string>& hosts) {
    if (hosts.empty()) return fail(Errc::usage, "a sender needs a recorder (\"recorder:9000\")");
    for (auto host = hosts.begin(); host != hosts.end(); ++host) {
        if (std::find(hosts.begin(), host, *host) != host)
            return fail(Errc::usage, "recorder " + *host + " is named twice; name each once");
    }
    if (options.incarnation != 0 || options.first_sequence > Sequence{1} || options.replays)
        return fail(Errc::usage,
                    "a session cannot be continued with several recorders; give no incarnation, or one recorder");
    return {};
}

/// What an event's first piece has for an owner: it is the group that counts events by their owners.
struct Numbered {
    Sequence sequence;
    std::shared_ptr<const void> owner;
};

}  // namespace

class SpreadSender::Core {
public:
    Core(SenderOptions options, std::vector<std::string> hosts, Reporter report)
        : options_(std::move(options)), hosts_(std::move(hosts)), report_(std::move(report)) {}
    ~Core() { close(); }

    Result<> begin() {
        if (!options_.join_run) {
            WEIR_TRY(open_group(options_.run));
        } else {
            inquiry_ = WEIR_TRY(RunInquiry::begin(options_, hosts_));
        }
        care_ = named_jthread("recorders", [this](const std::stop_token& stop) { look_after(stop); });
        return {};
    }

    /// Nothing: there is no room, and `wait` is false.
    Result<std::optional<Sequence>> send(const EventDescription& event, std::span<const Piece> payload, bool wait) {
        WEIR_TRY(check_event(event, payload));
        auto* group = WEIR_TRY(find_group(wait));
        if (group == nullptr) return std::nullopt;
        std::vector<Piece> pieces(payload.begin(), payload.end());
        Sequence sequence{0};
        {
            const std::scoped_lock lock(mutex_);
            sequence = Sequence{++accepted_};
            ++unreported_;
        }
        pieces.front().owner = std::make_shared<const Numbered>(sequence, std::move(pieces.front().owner));
        if (wait ? group->send(event, pieces, stop_.get_token()) : group->try_send(event, pieces)) return sequence;
        ended(1);
        if (auto failed = group->failure()) return std::unexpected(std::move(*failed));
        if (auto failed = failure()) return std::unexpected(std::move(*failed));
        return std::nullopt;
    }

    Result<bool> flush(std::chrono::milliseconds timeout) {
        const auto until = clock_.now() + timeout;
        std::unique_lock lock(mutex_);
        while (unreported_ > 0 && !failed_ && clock_.now() < until) changed_.wait_for(lock, 20ms);
        if (unreported_ == 0 && !released_) return true;
        if (failed_) return std::unexpected(*failed_);
        return false;
    }

    Result<std::optional<RunNumber>> run(std::chrono::milliseconds timeout) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, timeout, [&] { return failed_ || run_; });
        if (!run_ && failed_) return std::unexpected(*failed_);
        return run_;
    }

    void close() {
        const std::scoped_lock closing(closing_);
        fail_with({Errc::refused, 0, "the sender is closed"});
        stop_.request_stop();
        care_ = {};
        if (!group_) return;
        group_->close();
        const std::scoped_lock lock(mutex_);
        released_ = unreported_ > 0;
    }

    SenderStats stats() const {
        SenderStats stats;
        const auto* group = known_group();
        if (group == nullptr) return stats;
        auto of_all = group->stats();
        stats.accepted = of_all.accepted;
        stats.acknowledged = of_all.acknowledged;
        stats.rejected = of_all.rejected;
        stats.held = of_all.held;
        stats.released = of_all.released;
        stats.bytes_held = of_all.bytes_held;
        stats.bytes_accepted = of_all.bytes_accepted;
        stats.sent = of_all.sent;
        stats.resent = of_all.resent;
        stats.reconnects = of_all.reconnects;
        stats.connected = of_all.connected > 0;
        stats.last_problem = std::move(of_all.last_problem);
        return stats;
    }

    std::uint64_t in_doubt() const {
        const auto* group = known_group();
        return group == nullptr ? 0 : group->stats().in_doubt;
    }

    std::optional<Error> failure() const {
        const std::scoped_lock lock(mutex_);
        return failed_;
    }

private:
    const SenderGroup* known_group() const {
        const std::scoped_lock lock(mutex_);
        return run_ ? &*group_ : nullptr;
    }

    static Result<> check_event(const EventDescription& event, std::span<const Piece> payload) {
        if (std::ranges::all_of(payload, [](const Piece& piece) { return piece.data.empty(); }))
            return fail(Errc::usage, "an event without payload cannot be sent");
        wire::EventMeta meta;
        meta.tags = event.tags;
        return wire::event_fits(meta);
    }

    Result<> open_group(RunNumber run) {
        SenderGroupOptions options{.sender = options_,
                                   .window = options_.window,
                                   .move_after = options_.give_up_after,
                                   .fail_after = options_.give_up_after};
        options.sender.run = run;
        options.sender.join_run = false;
        options.sender.give_up_after = 0ms;
        options.sender.backoff_last =
            std::clamp<std::chrono::milliseconds>(options_.backoff_last, options_.backoff_first, backoff_longest);
        options.sender.on_final = {};
        options.sender.on_refused = {};
        options.sender.on_state = {};
        group_.emplace(
            std::move(options),
            [this](const std::shared_ptr<const void>& owner, std::optional<wire::RejectReason> rejected) {
                const auto sequence = static_cast<const Numbered*>(owner.get())->sequence;
                if (options_.on_final) {
                    const std::scoped_lock one_at_a_time(finals_);
                    options_.on_final(sequence, rejected);
                }
                ended(1);
            },
            report_);
        std::vector<Peer> recorders;
        for (const auto& host : hosts_)
            recorders.push_back({.name = host, .kind = StationKind::record, .events = host});
        WEIR_TRY(group_->set_receivers(Choice::least_loaded, std::move(recorders)));
        const std::scoped_lock lock(mutex_);
        run_ = run;
        changed_.notify_all();
        return {};
    }

    /// nullptr: the run is not known yet, and `wait` is false.
    Result<SenderGroup*> find_group(bool wait) {
        std::unique_lock lock(mutex_);
        if (wait) changed_.wait(lock, [&] { return failed_ || run_; });
        if (failed_) return std::unexpected(*failed_);
        return run_ ? &*group_ : nullptr;
    }

    void look_after(const std::stop_token& stop) {
        while (inquiry_ && !stop.stop_requested()) {
            auto run = inquiry_->wait(50ms);
            if (run && !*run) continue;
            auto opened = run ? open_group(**run) : Result<>(std::unexpected(std::move(run.error())));
            if (!opened) fail_with(std::move(opened.error()));
            inquiry_.reset();
        }
        while (group_ && stoppable_sleep(care_interval, stop)) {
            group_->look_after(clock_.now());
            if (auto failure = group_->failure()) fail_with(std::move(*failure));
        }
    }

    void ended(std::uint64_t events) {
        const std::scoped_lock lock(mutex_);
        unreported_ -= events;
        if (unreported_ == 0) changed_.notify_all();
    }

    void fail_with(Error error) {
        const std::scoped_lock lock(mutex_);
        if (!failed_) failed_ = std::move(error);
        changed_.notify_all();
    }

    const SystemClock clock_;
    const SenderOptions options_;
    const std::vector<std::string> hosts_;
    const Reporter report_;

    mutable std::mutex mutex_;  // of the next ones
    std::condition_variable changed_;
    std::optional<RunNumber> run_;  // known: there is a group
    std::optional<Error> failed_;
    std::uint64_t accepted_ = 0, unreported_ = 0;
    bool released_ = false;

    std::mutex finals_, closing_;
    std::stop_source stop_;              // of waiting calls
    std::optional<RunInquiry> inquiry_;  // begin(), then the thread
    std::optional<SenderGroup> group_;   // the same, until run_ is set
    std::jthread care_;                  // the last member
};

Result<std::unique_ptr<SpreadSender>> SpreadSender::open(SenderOptions options, std::vector<std::string> hosts,
                                                         Reporter report) {
    WEIR_TRY(check(options, hosts));
    auto core = std::make_unique<Core>(std::move(options), std::move(hosts), std::move(report));
    WEIR_TRY(core->begin());
    return std::unique_ptr<SpreadSender>(new SpreadSender(std::move(core)));
}

SpreadSender::SpreadSender(std::unique_ptr<Core> core) : core_(std::move(core)) {}
SpreadSender::~SpreadSender() = default;

Result<Sequence> SpreadSender::send(const EventDescription& event, std::span<const Piece> payload) {
    const auto sequence = WEIR_TRY(core_->send(event, payload, true));
    if (!sequence) return fail(Errc::refused, "the sender is closed");
    return *sequence;
}

Result<std::optional<Sequence>> SpreadSender::try_send(const EventDescription& event, std::span<const Piece> payload) {
    return core_->send(event, payload, false);
}

Result<Sequence> SpreadSender::send(const EventDescription& event, ConstData payload) {
    const auto copy = std::make_shared_for_overwrite<std::byte[]>(payload.size());
    std::ranges::copy(payload, copy.get());
    const Piece piece{ConstData(copy.get(), payload.size()), copy};
    return send(event, std::span(&piece, 1));
}

Result<bool> SpreadSender::flush(std::chrono::milliseconds timeout) { return core_->flush(timeout); }
void SpreadSender::close() { core_->close(); }
Result<std::optional<RunNumber>> SpreadSender::run(std::chrono::milliseconds timeout) { return core_->run(timeout); }
SenderStats SpreadSender::stats() const { return core_->stats(); }
std::uint64_t SpreadSender::in_doubt() const { return core_->in_doubt(); }
std::optional<Error> SpreadSender::failure() const { return core_->failure(); }

}  // namespace weir::delivery
