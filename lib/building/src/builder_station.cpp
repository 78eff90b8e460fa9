// SPDX-License-Identifier: Apache-2.0
#include "weir/building/builder_station.hpp"

#include <fmt/format.h>

#include <atomic>

namespace weir::building {
namespace {
/// "robs_lost_0x7c0000"
std::string lost_of(SourceId source) { return fmt::format("robs_lost_0x{:06x}", number(source)); }
}  // namespace

class BuilderStation::Logic final : public messaging::StationLogic {
public:
    Logic(BuilderStation& station)
        : station_(station),
          output_(
              station.options_.output, [this] { woken(); },
              [this](std::string text) { warn(station_.reports_, std::move(text)); }),
          sampled_(output_, station.samples_, station.clock_),
          builder_(station.options_.builder, station.loop_->endpoint(), station.loop_->pool(), sampled_) {}

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
    void tell() override {
        for (auto& report : builder_.take_reports()) warn(station_.reports_, std::move(report));
        const auto stats = station_.loop_->stats();
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
                           {"kernel_drops", double(stats.kernel_drops)},
                           {"foreign_address", double(stats.foreign_address)}};
        for (const auto& [source, lost] : builder_.lost_by_source()) status.counters[lost_of(source)] = double(lost);
        output_.look_after(station_.clock_.now());
        const auto output = output_.stats();
        status.counters["output_held"] = double(output.held);
        status.counters["output_reconnects"] = double(output.reconnects);
        // The DFM, which ends before, may not have acknowledged the last word.
        station_.status_.write(std::move(status), counts.in_hand == 0);
    }
    Builder& builder() noexcept { return builder_; }
    DeliveryOutput& output() noexcept { return output_; }

private:
    /// Between the builder and its output: an event now and then is shown to whoever wants to look.
    class Sampled final : public BuiltSink {
    public:
        Sampled(BuiltSink& next, service::SampledEvents* samples, const Clock& clock)
            : next_(next), samples_(samples), clock_(clock) {}
        bool take(std::unique_ptr<BuiltEvent>& event) override {
            if (const auto now = clock_.now(); samples_ != nullptr && samples_->due(now)) {
                pieces_.clear();
                for (std::size_t i = 0; i < event->pieces.count(); ++i) pieces_.push_back(event->pieces.piece(i));
                samples_->offer(pieces_, now);
            }
            return next_.take(event);
        }

    private:
        BuiltSink& next_;
        service::SampledEvents* samples_;
        const Clock& clock_;
        std::vector<ConstData> pieces_;
    };

    void woken() {
        if (!woken_.exchange(true, std::memory_order_acq_rel)) station_.loop_->call([] {});  // it collects
    }

    BuilderStation& station_;
    std::atomic<bool> woken_{false};
    DeliveryOutput output_;
    Sampled sampled_;
    Builder builder_;
    std::uint64_t drops_ = 0;
};

BuilderStation::BuilderStation(BuilderStationOptions options, service::Reports& reports, const Clock& clock)
    : options_(std::move(options)), reports_(reports), clock_(clock) {}

BuilderStation::~BuilderStation() { static_cast<void>(disconnect()); }

Result<> BuilderStation::configure() {
    messaging::StationLoopOptions options{.thread = "builder",
                                          .loop = options_.loop,
                                          .link = options_.link,
                                          .speaks_with = {StationKind::assign, StationKind::readout},
                                          .watches = {StationKind::assign},
                                          .memory = options_.memory};
    options.loop.gather = answers_gather;
    if (options_.probe) options.probe = options_.probe_deadline;
    loop_ = WEIR_TRY(messaging::StationLoop::open(std::move(options), clock_));
    return {};
}

Peer BuilderStation::self() const {
    return {.name = options_.name,
            .kind = StationKind::build,
            .id = options_.id,
            .dataflow = loop_ ? loop_->address() : "",
            .events = {},
            .sources = {},
            .tcp = options_.link == messaging::LinkKind::tcp};
}

Result<> BuilderStation::connect(const std::vector<Peer>& peers) {
    peers_ = peers;
    logic_ = std::make_unique<Logic>(*this);
    logic_->builder().set_peers(peers, clock_.now());
    return loop_->connect(peers, *logic_);
}

Result<> BuilderStation::start(RunNumber run) {
    if (samples_ != nullptr) samples_->clear();
    Result<> output;
    loop_->in_loop([&] { output = logic_->output().set_peers(peers_, run); });
    if (!output) return output;
    run_ = run;
    loop_->begin_run(run, [&] { logic_->builder().start_run(run); });
    return {};
}

Result<> BuilderStation::stop(std::chrono::milliseconds deadline) {
    loop_->drain();
    static_cast<void>(status_.wait_idle(deadline));
    loop_->end_run([&] {
        logic_->output().close();  // first: no answer comes any more
        logic_->collect();
        logic_->builder().reject_unfinished();  // also what came while it was stopping: the DFM has given it to others
    });
    return {};
}

Result<> BuilderStation::disconnect() {
    if (loop_) loop_->disconnect();
    logic_.reset();
    return {};
}

Result<> BuilderStation::unconfigure() {
    logic_.reset();  // of a connect() that failed
    loop_.reset();
    return {};
}

Result<> BuilderStation::change_peers(const std::vector<Peer>& peers) {
    Result<> output;
    auto changed = loop_->change_peers(peers, [&] {
        peers_ = peers;
        logic_->builder().set_peers(peers, clock_.now());
        if (loop_->running()) output = logic_->output().set_peers(peers, run_);
    });
    return changed ? output : changed;
}

service::StationStatus BuilderStation::status() const { return status_.read(); }

}  // namespace weir::building
