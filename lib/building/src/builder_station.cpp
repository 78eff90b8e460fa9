// SPDX-License-Identifier: Apache-2.0
#include "weir/building/builder_station.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "weir/transport/loop_calls.hpp"
#include "weir/service/shared_status.hpp"

namespace weir::building {

using namespace std::chrono_literals;

namespace {
/// "robs_lost_0x7c0000"
std::string lost_of(SourceId source) { return fmt::format("robs_lost_0x{:06x}", number(source)); }
}  // namespace

class BuilderStation::Logic final : public transport::MessageHandler {
public:
    Logic(BuilderStation& station)
        : station_(station),
          output_(station.options_.output, [this] { woken(); }),
          sampled_(output_, station.samples_, station.clock_),
          builder_(station.options_.builder, station.loop_->exchange(), *station.pool_, sampled_) {}

    void on_message(const transport::IncomingMessage& message, SteadyTime now) override {
        if (running_) builder_.on_message(message, now);
    }
    void on_peer(wire::StationId peer, transport::PeerChange change, SteadyTime now) override {
        builder_.on_peer(peer, change, now);
    }
    std::optional<SteadyTime> step(SteadyTime now) override {
        take_ended();
        if (running_) static_cast<void>(output_.send_homeless());
        std::optional<SteadyTime> next;
        if (running_) next = builder_.step(now);
        if (now >= told_ + 50ms || ending_) {
            told_ = now;
            tell();
        }
        return std::min(next.value_or(now + 50ms), now + 50ms);
    }

    Builder& builder() noexcept { return builder_; }
    DeliveryOutput& output() noexcept { return output_; }
    void run(bool running) noexcept { running_ = running; }
    [[nodiscard]] bool running() const noexcept { return running_; }
    void end(bool ending) noexcept { ending_ = ending; }
    void take_ended() {
        woken_.store(false, std::memory_order_release);  // before looking: what comes after wakes again
        const auto ended = output_.take_ended();
        for (const auto& event : ended) builder_.ended(event.ticket, event.incomplete, event.outcome, event.reason);
    }
    void tell() {
        for (auto& remark : builder_.take_remarks())
            warn(station_.reports_, std::move(remark));
        const auto stats = station_.loop_->stats();
        if (stats.kernel_drops > drops_) builder_.overflowed();
        drops_ = stats.kernel_drops;
        const auto counts = builder_.counts();
        StationStatus status;
        status.ledger = builder_.ledger();
        status.counters = {{"built", double(counts.built)},
                           {"incomplete", double(counts.incomplete)},
                           {"bytes_built", double(counts.bytes_built)},
                           {"requests", double(counts.requests)},
                           {"asked", double(counts.asked)},
                           {"answers", double(counts.answers)},
                           {"bytes_received", double(counts.bytes_received)},
                           {"asked_again", double(counts.asked_again)},
                           {"not_yet", double(counts.not_yet)},
                           {"late_or_double", double(counts.late_or_double)},
                           {"unexpected", double(counts.unexpected)},
                           {"malformed", double(counts.malformed + stats.exchange.malformed)},
                           {"foreign_run", double(stats.exchange.foreign_run)},
                           {"no_memory", double(counts.no_memory)},
                           {"robs_lost", double(counts.robs_lost)},
                           {"robs_bad", double(counts.robs_bad)},
                           {"level1_mismatches", double(counts.level1_mismatches)},
                           {"window_bytes", double(counts.window)},
                           {"kernel_drops", double(stats.kernel_drops)},
                           {"foreign_address", double(stats.foreign_address)}};
        for (const auto& [source, lost] : builder_.lost_by_source()) status.counters[lost_of(source)] = double(lost);
        const auto output = output_.stats();
        status.counters["output_held"] = double(output.held);
        status.counters["output_reconnects"] = double(output.reconnects);
        station_.status_->write(std::move(status), counts.in_hand == 0);  // the DFM, which ends before, may not have acknowledged the last word
    }

private:
    /// Between the builder and its output: an event now and then is shown to whoever wants to look.
    class Sampled final : public BuiltSink {
    public:
        Sampled(BuiltSink& next, SampledEvents* samples, const Clock& clock) : next_(next), samples_(samples), clock_(clock) {}
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
        SampledEvents* samples_;
        const Clock& clock_;
        std::vector<ConstData> pieces_;
    };

    void woken() {
        if (!woken_.exchange(true, std::memory_order_acq_rel)) station_.loop_->call([] {});  // its step() looks
    }

    BuilderStation& station_;
    std::atomic<bool> woken_{false};
    DeliveryOutput output_;
    Sampled sampled_;
    Builder builder_;
    SteadyTime told_{};
    std::uint64_t drops_ = 0;
    bool running_ = false;
    bool ending_ = false;
};

BuilderStation::BuilderStation(BuilderStationOptions options, Reports& reports, const Clock& clock)
    : options_(std::move(options)), reports_(reports), clock_(clock), status_(std::make_unique<SharedStatus>()) {}

BuilderStation::~BuilderStation() = default;

Result<> BuilderStation::configure() {
    pool_ = std::make_unique<memory::BufferPool>(options_.memory);
    auto loop = transport::MessageLoop::open(options_.loop, *pool_, clock_);
    if (!loop) return std::unexpected(loop.error());
    loop_ = std::move(*loop);
    return {};
}

Peer BuilderStation::self() const {
    return {.name = options_.name, .kind = StationKind::build, .id = options_.id, .dataflow = address_of(options_.loop, loop_.get()),
            .events = {}, .sources = {}, .tcp = options_.link == transport::LinkKind::tcp};
}

Result<> BuilderStation::connect(const std::vector<Peer>& peers) {
    const auto links = links_to(peers, {StationKind::assign, StationKind::readout}, options_.link, {StationKind::assign});
    if (!links) return std::unexpected(links.error());
    if (auto set = loop_->set_peers(*links); !set) return set;
    peers_ = peers;
    logic_ = std::make_unique<Logic>(*this);
    logic_->builder().set_peers(peers, clock_.now());
    if (options_.probe) {
        if (auto there = loop_->probe(options_.probe_deadline, *logic_); !there) {
            logic_.reset();
            return there;
        }
    }
    thread_.emplace("builder", [this](const std::stop_token& stop) { loop_->run(stop, *logic_); });
    return {};
}

Result<> BuilderStation::start(RunNumber run) {
    Result<> result;
    if (samples_ != nullptr) samples_->clear();
    in_loop(*loop_, [&] {
        result = logic_->output().set_peers(peers_, run);
        if (!result) return;
        run_ = run;
        loop_->exchange().set_run(run);
        logic_->builder().start_run(run);
        logic_->run(true);
        logic_->end(false);
        logic_->tell();
    });
    return result;
}

Result<> BuilderStation::stop(std::chrono::milliseconds deadline) {
    in_loop(*loop_, [&] {
        logic_->end(true);
        logic_->tell();
    });
    static_cast<void>(status_->wait_idle(deadline));
    in_loop(*loop_, [&] {
        logic_->output().close();  // first: no answer comes any more
        logic_->take_ended();
        logic_->builder().give_up();  // also what came while it was stopping: the DFM has given it to others
        logic_->run(false);
        logic_->tell();
        loop_->exchange().set_run(RunNumber{0});
    });
    return {};
}

Result<> BuilderStation::disconnect() {
    thread_.reset();
    logic_.reset();
    return {};
}

Result<> BuilderStation::unconfigure() {
    loop_.reset();
    pool_.reset();
    return {};
}

Result<> BuilderStation::change_peers(const std::vector<Peer>& peers) {
    const auto links = links_to(peers, {StationKind::assign, StationKind::readout}, options_.link, {StationKind::assign});
    if (!links) return std::unexpected(links.error());
    Result<> result;
    in_loop(*loop_, [&] {
        result = loop_->set_peers(*links);
        if (!result) return;
        logic_->builder().set_peers(peers, clock_.now());
        if (logic_->running()) result = logic_->output().set_peers(peers, run_);
    });
    peers_ = peers;
    return result;
}

StationStatus BuilderStation::status() const { return status_->read(); }

}  // namespace weir::building
