// SPDX-License-Identifier: Apache-2.0
#include "weir/selection/filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "filter_item.hpp"
#include "selection_alarm.hpp"
#include "weir/base/stoppable_sleep.hpp"
#include "weir/delivery/sender_group.hpp"
#include "workers/worker_threads.hpp"

namespace weir::selection {
namespace {

using namespace std::chrono_literals;

/// The formats have the same names there.
wire::EventFormat on_the_wire(event::Format format) { return wire::parse_event_format(event::name(format)).value(); }

/// False: stopped.
bool rested(const std::stop_token& stop) {
    const ScopedWait wait(WaitCause::timer);
    return stoppable_sleep(20ms, stop);
}

/// An event that is sent to a recorder: its buffer, and its header when that was made anew.
struct Sent {
    delivery::IncomingEvent incoming;
    std::vector<std::byte> stamped;

    [[nodiscard]] delivery::Answer answer() const noexcept { return {incoming.session, incoming.meta.sequence}; }
};

}  // namespace

class Filter::Core final : public delivery::EventSink {
public:
    Core(FilterOptions options, Reporter report) : options_(std::move(options)), report_(std::move(report)) {}

    std::optional<delivery::Refusal> hello(delivery::SessionId, const wire::Hello& hello) override {
        if (hello.session.run != run_)
            return delivery::Refusal{wire::ByeReason::wrong_run, fmt::format("run {} is being filtered", number(run_))};
        if (hello.format != on_the_wire(options_.format))
            return delivery::Refusal{wire::ByeReason::format_mismatch,
                                     fmt::format("this filter takes {}", event::name(options_.format))};
        return std::nullopt;
    }

    delivery::Taken take(delivery::IncomingEvent& event) override {
        FilterItem item;
        item.incoming = std::move(event);
        const auto size = item.incoming.payload.size();
        if (!workers_->push(item)) {
            full_.store(true, std::memory_order_seq_cst);  // before another look: a worker that takes one then sees it
            if (!workers_->push(item)) {
                event = std::move(item.incoming);
                return delivery::Taken::full;
            }
        }
        received_.fetch_add(1, std::memory_order_relaxed);
        bytes_.fetch_add(size, std::memory_order_relaxed);
        return delivery::Taken::yes;
    }

    /// A worker took an event from the queue.
    const Event* view(FilterItem& item) {
        if (full_.load(std::memory_order_seq_cst) && full_.exchange(false, std::memory_order_seq_cst))
            receiver_->retry();
        look_into(item, options_.format, run_);
        return item.malformed.empty() ? &item.event : nullptr;
    }

    void done(FilterItem&& item, Judgement&& judgement, const std::stop_token& stop) {
        if (!item.malformed.empty()) return reject(item.answer(), wire::RejectReason::malformed_event, item.malformed);
        if (judgement.trouble == Trouble::stopped) return;  // returned: it has no answer
        if (judgement.trouble != Trouble::none) {
            count_trouble(judgement.trouble);
            auto text = fmt::format("on event {}, which goes to a debug stream: {}",
                                    number(item.incoming.meta.global_id), judgement.why);
            report_(selection_alarm(selection_name_, judgement.trouble, std::move(text)));
            judgement.force();
        }
        if (!judgement.decision.accepted) return reject(item.answer(), wire::RejectReason::not_selected, "");
        const auto& meta = item.incoming.meta;
        auto& tags = judgement.decision.tags;
        if (tags.empty()) tags = meta.tags.empty() ? options_.tags : meta.tags;
        const delivery::EventDescription event{.global_id = meta.global_id,
                                               .level1_id = meta.level1_id,
                                               .lumi_block = meta.lumi_block,
                                               .tags = std::move(tags),
                                               .sent_elsewhere = meta.sent_elsewhere};
        auto sent = std::make_shared<Sent>();
        sent->incoming = std::move(item.incoming);
        delivery::Piece piece{.data = std::as_const(sent->incoming.payload).data(), .owner = sent};
        if (options_.stamp_tags) {
            if (auto stamped = stamped_with(piece.data, options_.format, event.tags)) {
                sent->stamped = std::move(*stamped);
                piece.data = sent->stamped;
            }
        }
        if (options_.sampled) options_.sampled(piece.data, event.tags);
        selected_.fetch_add(1, std::memory_order_relaxed);
        static_cast<void>(output_->send(event, std::span(&piece, 1), stop));  // false: returned, the run ends
    }

    Result<> start(RunNumber run, const Selection& selection, const std::vector<Peer>& peers) {
        run_ = run;
        selection_name_ = selection.name();
        delivery::SenderGroupOptions out;
        out.sender.name = options_.name;
        out.sender.run = run;
        out.sender.format = on_the_wire(options_.format);
        out.sender.window = options_.recorder_window;
        out.sender.tls = options_.recorder_tls;
        out.move_after = options_.move_after;
        out.hold_back_after = 200ms;
        output_ = std::make_unique<delivery::SenderGroup>(
            std::move(out),
            [this](const std::shared_ptr<const void>& sent, std::optional<wire::RejectReason> rejected) {
                answered(static_cast<const Sent*>(sent.get())->answer(), rejected);
            },
            report_);
        WEIR_TRY(set_recorders(peers));
        workers_.emplace(
            "filter", options_.workers, options_.queue_max, selection,
            WorkerThreads<FilterItem>::Calls{
                .view = [this](FilterItem& item) { return view(item); },
                .apart = [](const FilterItem& item) { return item.incoming.meta.sent_elsewhere; },
                .done = [this](FilterItem&& item, Judgement&& judgement,
                               const std::stop_token& stop) { done(std::move(item), std::move(judgement), stop); }},
            *options_.clock);
        care_ = NamedThread("recorders", [this](const std::stop_token& stop) {
            do {
                output_->look_after(options_.clock->now());
            } while (rested(stop));
        });
        receiver_->start();
        return {};
    }

    Result<> set_recorders(std::vector<Peer> peers) {
        std::erase_if(peers, [](const Peer& peer) { return peer.kind != StationKind::record; });
        return output_->set_receivers(delivery::Choice::by_event, std::move(peers));
    }

    bool stop(std::chrono::milliseconds deadline) {
        const auto until = options_.clock->now() + deadline;
        const bool drained = receiver_->stop(deadline);
        if (!workers_) return drained;
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - options_.clock->now());
        const bool ended = workers_->stop(std::max(left, 200ms));
        left_behind_ = left_behind_ || !ended;
        if (!ended)
            report_.warning(fmt::format("the selection {} hangs: its threads were left behind", selection_name_));
        care_ = {};
        output_->close();
        returned_ = in_hand();
        return drained;
    }

    void answered(delivery::Answer answer, std::optional<wire::RejectReason> rejected) {
        if (rejected) return reject(answer, *rejected, "reported by the recorder");
        stored_.fetch_add(1, std::memory_order_relaxed);
        receiver_->acknowledge(std::span(&answer, 1));
    }

    void reject(delivery::Answer answer, wire::RejectReason reason, std::string text) {
        rejected_[wire::index(reason)].fetch_add(1, std::memory_order_relaxed);
        receiver_->reject(answer, reason, std::move(text));
    }

    void count_trouble(Trouble trouble) noexcept {
        auto& counter = trouble == Trouble::threw ? threw_ : trouble == Trouble::timed_out ? timed_out_ : crashed_;
        counter.fetch_add(1, std::memory_order_relaxed);
    }

    std::uint64_t final_events() const noexcept {
        auto sum = stored_.load(std::memory_order_relaxed);
        for (const auto& count : rejected_) sum += count.load(std::memory_order_relaxed);
        return sum;
    }
    std::uint64_t in_hand() const noexcept {
        const auto final = final_events();  // before: an event is received before it is final
        const auto received = received_.load(std::memory_order_relaxed);
        return received > final ? received - final : 0;
    }

    FilterStats stats() const {
        FilterStats stats;
        stats.stored = stored_.load(std::memory_order_relaxed);
        auto final = stats.stored;
        for (std::size_t i = 0; i < rejected_.size(); ++i)
            final += stats.rejected[i] = rejected_[i].load(std::memory_order_relaxed);
        stats.received = std::max(final, received_.load(std::memory_order_relaxed));
        stats.returned = returned_.load(std::memory_order_relaxed);
        stats.in_hand = stats.received - final - std::min(stats.returned, stats.received - final);
        stats.selected = selected_.load(std::memory_order_relaxed);
        stats.threw = threw_.load(std::memory_order_relaxed);
        stats.timed_out = timed_out_.load(std::memory_order_relaxed);
        stats.crashed = crashed_.load(std::memory_order_relaxed);
        stats.forced = stats.threw + stats.timed_out + stats.crashed;
        stats.bytes = bytes_.load(std::memory_order_relaxed);
        if (workers_) {
            stats.queued = workers_->queued();
            stats.worker_restarts = workers_->restarts();
        }
        if (output_) {
            const auto output = output_->stats();
            stats.at_recorders = output.held;
            stats.moved = output.moved;
            stats.in_doubt = output.in_doubt;
            stats.recorders_connected = output.connected;
            stats.waits_for_recorder = output.waits;
        }
        stats.receiver = receiver_->stats();
        return stats;
    }

    const FilterOptions options_;
    const Reporter report_;
    RunNumber run_{};  // before the receiver starts
    std::string selection_name_;
    // Counters of several threads, for statistics only: relaxed.
    std::atomic<std::uint64_t> received_{0}, bytes_{0}, stored_{0}, selected_{0}, threw_{0}, timed_out_{0}, crashed_{0},
        returned_{0};
    std::array<std::atomic<std::uint64_t>, wire::reject_reason_count> rejected_{};
    std::atomic<bool> full_{false};  // the receiver waits for retry()
    std::unique_ptr<delivery::Receiver> receiver_;
    std::unique_ptr<delivery::SenderGroup> output_;
    std::optional<WorkerThreads<FilterItem>> workers_;
    bool left_behind_ = false;
    NamedThread care_;
};

Filter::Filter(std::unique_ptr<Core> core) : core_(std::move(core)) {}

Filter::~Filter() {
    if (core_) stop(0ms);
}

Result<std::unique_ptr<Filter>> Filter::open(FilterOptions options, memory::BufferPool& pool, Reporter report) {
    auto receiver_options = options.receiver;
    receiver_options.event_size_max = std::min(receiver_options.event_size_max, Bytes{pool.largest()});
    auto core = std::make_unique<Core>(std::move(options), report);
    auto receiver = delivery::Receiver::open(
        receiver_options, pool, *core,
        [report](Report one) {
            // Sequences that a builder skipped are no alarm here: the DFM knows its events, and sends them again.
            one.alarm.empty() ? report(std::move(one)) : report.warning(std::move(one.why));
        },
        *core->options_.clock);
    if (!receiver) return std::unexpected(receiver.error());
    WEIR_TRY((*receiver)->listen());  // builders may come first
    core->receiver_ = std::move(*receiver);
    return std::unique_ptr<Filter>(new Filter(std::move(core)));
}

std::uint16_t Filter::port() const noexcept { return core_->receiver_->port(); }

Result<> Filter::start(RunNumber run, const Selection& selection, const std::vector<Peer>& peers) {
    return core_->start(run, selection, peers);
}

Result<> Filter::change_recorders(const std::vector<Peer>& peers) {
    return core_->output_ ? core_->set_recorders(peers) : Result<>{};
}

bool Filter::stop(std::chrono::milliseconds deadline) { return core_->stop(deadline); }

std::vector<GlobalEventId> Filter::stuck(std::chrono::nanoseconds longer_than) const {
    if (!core_->workers_) return {};
    return core_->workers_->stuck(core_->options_.clock->now(), longer_than);
}

std::chrono::nanoseconds Filter::longest_selection() const {
    return core_->workers_ ? core_->workers_->longest(core_->options_.clock->now()) : std::chrono::nanoseconds{0};
}

bool Filter::left_behind() const noexcept { return core_->left_behind_; }

FilterStats Filter::stats() const { return core_->stats(); }

}  // namespace weir::selection
