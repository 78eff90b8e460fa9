// SPDX-License-Identifier: Apache-2.0
#include "weir/building/builder_station.hpp"

#include <atomic>

namespace weir::building {
namespace {
class BuilderLogic final : public station::StationLogic {
public:
    BuilderLogic(const BuilderStationOptions& options, messaging::StationLoop& loop, service::SharedStatus& status,
                 const Reporter& report, const Clock& clock)
        : loop_(loop),
          status_(status),
          clock_(clock),
          samples_(options.samples),
          output_(
              options.output, [this] { woken(); }, report),
          sampled_(output_, samples_, clock),
          builder_(options.builder, loop.endpoint(), loop.pool(), sampled_, report) {}

    Result<> set_peers(const std::vector<Peer>& peers, SteadyTime now) override {
        peers_ = peers;
        builder_.set_peers(peers, now);
        return loop_.running() ? output_.set_peers(peers, run_) : Result<>{};
    }
    Result<> prepare_run(RunNumber run, bool) override {
        if (samples_ != nullptr) samples_->clear();
        WEIR_TRY(output_.set_peers(peers_, run));
        run_ = run;
        return {};
    }
    Result<> set_masks(const std::vector<service::SourceMask>& masks) override { return builder_.set_masks(masks); }
    void start_run(RunNumber run, SteadyTime) override { builder_.start_run(run); }
    void end_run() override {
        output_.close();  // first: no answer comes any more
        collect();
        builder_.reject_unfinished();  // also what came while it was stopping: the DFM has given it to others
    }

    void on_message(const messaging::IncomingMessage& message, SteadyTime now) override {
        builder_.on_message(message, now);
    }
    void on_peer(wire::StationId peer, messaging::PeerChange change, SteadyTime now) override {
        builder_.on_peer(peer, change, now);
    }
    void collect() override {
        woken_.store(false, std::memory_order_release);  // before looking: what comes after wakes again
        const auto ended = output_.take_ended();
        for (const auto& event : ended) builder_.ended(event.ticket, event.incomplete, event.outcome, event.reason);
    }
    std::optional<SteadyTime> step(SteadyTime now) override { return builder_.step(now); }
    void publish_status() override {
        const auto stats = loop_.stats();
        if (stats.kernel_drops > drops_) builder_.overflowed();
        drops_ = stats.kernel_drops;
        const auto counts = builder_.counts();
        service::StationStatus status;
        status.ledger = builder_.ledger();
        status.counters = {{"built", double(counts.built)},
                           {"incomplete", double(counts.incomplete)},
                           {"bytes_built", double(counts.bytes_built)},
                           {"requests", double(counts.requests)},
                           {"asked", double(counts.asked)},
                           {"answers", double(counts.answers)},
                           {"bytes_received", double(counts.bytes_received)},
                           {"asked_again", double(counts.re_requested)},
                           {"not_yet", double(counts.not_yet)},
                           {"late_or_double", double(counts.late_or_double)},
                           {"unexpected", double(counts.unexpected)},
                           {"malformed", double(counts.malformed + stats.endpoint.malformed)},
                           {"foreign_run", double(stats.endpoint.foreign_run)},
                           {"no_memory", double(counts.no_memory)},
                           {"robs_lost", double(counts.robs_lost)},
                           {"robs_bad", double(counts.robs_bad)},
                           {"level1_mismatches", double(counts.level1_mismatches)},
                           {"window_bytes", double(counts.window)},
                           {"mask_changes", double(counts.mask_changes)},
                           {"kernel_drops", double(stats.kernel_drops)},
                           {"foreign_address", double(stats.foreign_address)}};
        status.levels = {"window_bytes", "newest_level1_id", "output_held"};
        status.sources = builder_.sources();
        if (counts.newest) status.counters["newest_level1_id"] = double(number(*counts.newest));
        output_.look_after(clock_.now());
        const auto output = output_.stats();
        status.counters["output_held"] = double(output.held);
        status.counters["output_reconnects"] = double(output.reconnects);
        // The DFM, which ends before, may not have acknowledged the last word.
        status_.write(std::move(status), counts.in_hand == 0);
    }

private:
    /// Between the builder and its output: an event now and then is kept for inspection.
    class Sampled final : public BuiltSink {
    public:
        Sampled(BuiltSink& next, service::SampledEvents* samples, const Clock& clock)
            : next_(next), samples_(samples), clock_(clock) {}
        bool take(std::unique_ptr<BuiltEvent>& event) override {
            if (samples_ == nullptr) return next_.take(event);
            const auto now = clock_.now();
            const auto id = event->ticket.global_id;
            const bool tapped = samples_->tap().due(now) && tapped_ != id;  // not again when the next takes it later
            if (tapped || samples_->due(now)) {
                pieces_.clear();
                for (std::size_t i = 0; i < event->pieces.count(); ++i) pieces_.push_back(event->pieces.piece(i));
                samples_->offer(pieces_, now);
            }
            if (tapped) {
                samples_->tap().offer(pieces_, {.incomplete = event->robs_lost > 0}, clock_);
                tapped_ = id;
            }
            return next_.take(event);
        }

    private:
        BuiltSink& next_;
        service::SampledEvents* samples_;
        const Clock& clock_;
        std::vector<ConstData> pieces_;
        std::optional<GlobalEventId> tapped_;  // the last that was offered
    };

    void woken() {
        if (!woken_.exchange(true, std::memory_order_acq_rel)) loop_.call([] {});  // it collects
    }

    messaging::StationLoop& loop_;
    service::SharedStatus& status_;
    const Clock& clock_;
    service::SampledEvents* const samples_;
    std::vector<Peer> peers_;
    RunNumber run_{};
    std::atomic<bool> woken_{false};
    DeliveryOutput output_;
    Sampled sampled_;
    Builder builder_;
    std::uint64_t drops_ = 0;
};

station::LoopStationOptions around(const BuilderStationOptions& options) {
    station::LoopStationOptions made{.name = options.name,
                                     .kind = StationKind::build,
                                     .id = options.id,
                                     .loop = {.thread = "builder",
                                              .loop = options.loop,
                                              .link = options.link,
                                              .speaks_with = {StationKind::assign, StationKind::readout},
                                              .watches = {StationKind::assign},
                                              .memory = options.memory}};
    made.loop.loop.gather = answers_gather;
    if (options.probe) made.loop.probe = options.probe_deadline;
    return made;
}

}  // namespace

BuilderStation::BuilderStation(BuilderStationOptions options, Reporter report, const Clock& clock)
    : LoopStation(
          around(options),
          [options, report = std::move(report), &clock]() -> Result<MakeLogic> {
              return [&options, &report, &clock](messaging::StationLoop& loop, service::SharedStatus& status) {
                  return std::make_unique<BuilderLogic>(options, loop, status, report, clock);
              };
          },
          clock) {}

}  // namespace weir::building
