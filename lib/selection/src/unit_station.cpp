// SPDX-License-Identifier: Apache-2.0
#include "weir/selection/unit_station.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "hanging.hpp"
#include "selection_alarm.hpp"
#include "weir/base/assert.hpp"
#include "worker_threads.hpp"

namespace weir::selection {
namespace {

using namespace std::chrono_literals;

struct UnitItem {
    UnitTask task;
    Event event{};  // lies in the task
};

}  // namespace

/// The unit in its loop, and the way to its workers and back.
class UnitStation::Logic final : public messaging::StationLogic, public UnitWorkers {
public:
    explicit Logic(UnitStation& station)
        : station_(station), unit_(station.options_.unit, station.loop_->endpoint(), *this) {}

    void on_message(const messaging::IncomingMessage& message, SteadyTime now) override {
        unit_.on_message(message, now);
    }
    void on_peer(wire::StationId peer, messaging::PeerChange change, SteadyTime now) override {
        unit_.on_peer(peer, change, now);
    }
    void collect() override {
        std::vector<std::pair<UnitTask, Judgement>> judged;
        {
            const std::scoped_lock lock(mutex_);
            judged.swap(judged_);
        }
        for (auto& [task, judgement] : judged) unit_.judged(std::move(task), std::move(judgement));
    }
    std::optional<SteadyTime> step(SteadyTime now) override { return unit_.step(now); }

    /// An event whose data are there goes to the next free worker.
    void take(UnitTask task) override {
        UnitItem item{std::move(task)};
        const bool taken = workers_->push(item);
        WEIR_ASSERT(taken);  // bounded by the unit's credit, far below the queue
    }

    void start_workers(RunNumber run) {
        run_ = run;
        workers_.emplace("worker", station_.options_.unit.workers, std::size_t{1} << 20, *station_.selection_,
                         WorkerThreads<UnitItem>::Calls{
                             .view = [this](UnitItem& item) { return view(item); },
                             .done = [this](UnitItem&& item, Judgement&& judgement,
                                            const std::stop_token&) { done(std::move(item), std::move(judgement)); }});
    }
    /// In the thread of transitions: the workers are not waited for by the loop.
    void stop_workers(std::chrono::milliseconds deadline) {
        if (workers_ && !workers_->stop(deadline))
            warn(station_.reports_,
                 fmt::format("the selection {} hangs: its threads were left behind", station_.selection_->name()));
    }
    void forget_workers() {
        collect();
        workers_.reset();
    }

    SelectionUnit& unit() noexcept { return unit_; }
    void tell() override {
        for (auto& report : unit_.take_reports())
            raise_selection_alarm(station_.reports_, station_.selection_->name(), report.trouble,
                                  std::move(report.text));
        const auto counts = unit_.counts();
        service::StationStatus status;
        status.ledger = unit_.ledger();
        status.counters = {{"accepted", double(counts.accepted)},
                           {"rejected", double(counts.rejected)},
                           {"threw", double(counts.threw)},
                           {"timed_out", double(counts.timed_out)},
                           {"crashed", double(counts.crashed)},
                           {"overrun", double(counts.overrun)},
                           {"results_sent", double(counts.results_sent)},
                           {"results_lost", double(counts.results_lost)},
                           {"requests", double(counts.data.requests)},
                           {"asked_again", double(counts.data.re_requested)},
                           {"not_yet", double(counts.data.not_yet)},
                           {"fragments", double(counts.data.fragments)},
                           {"bytes_received", double(counts.data.bytes)},
                           {"missing_late", double(counts.data.missing_late)},
                           {"missing_gone", double(counts.data.missing_gone)},
                           {"missing_nobody", double(counts.data.missing_no_readout)},
                           {"late_or_double", double(counts.data.late_or_double)},
                           {"collecting", double(counts.data.in_hand)},
                           {"computing", double(counts.computing)},
                           {"malformed", double(counts.malformed + counts.data.malformed)},
                           {"unexpected", double(counts.unexpected)},
                           {"round_trip_seconds", std::chrono::duration<double>(unit_.round_trip()).count()}};
        if (workers_) {
            status.counters["worker_restarts"] = double(workers_->restarts());
            std::vector<GlobalEventId> stuck;
            double seconds = 0;
            if (!station_.selection_->in_processes()) {
                const auto limit = hangs_after(station_.options_.selection.time_limit);
                const auto now = station_.clock_.now();
                stuck = workers_->stuck(now, limit);
                seconds = hanging_seconds(workers_->longest(now), limit);
            }
            status.counters["hanging"] = double(stuck.size());
            status.counters["hanging_seconds"] = seconds;
            hanging_.look(stuck, station_.selection_->name(), station_.reports_);
        }
        const auto stats = station_.loop_->stats();
        status.counters["posts_resent"] = double(stats.endpoint.reliable_resent);
        status.counters["kernel_drops"] = double(stats.kernel_drops);
        status.counters["foreign_address"] = double(stats.foreign_address);
        station_.status_.write(std::move(status), unit_.idle() && told());
    }

private:
    /// The supervisor's acknowledgement is not waited for: it stops before its units, and whether it still acknowledges
    /// their last word is chance. Who is gone is told nothing.
    bool told() const {
        const auto& endpoint = station_.loop_->endpoint();
        const auto supervisor = unit_.supervisor();
        const auto results = unit_.results_to();
        return (!supervisor || !endpoint.reachable(*supervisor) || unit_.verdicts_sent()) &&
               (!results || !endpoint.reachable(*results) ||
                (unit_.results_sent() && endpoint.reliable_in_flight(*results) == 0));
    }
    const Event* view(UnitItem& item) const {
        const auto& data = *item.task.data;
        const auto& ticket = data.ticket;
        item.event = {.run = run_,
                      .global_id = ticket.global_id,
                      .level1_id = ticket.level1_id,
                      .lumi_block = ticket.lumi_block,
                      .bunch_crossing_id = ticket.bunch_crossing_id,
                      .trigger_type = ticket.trigger_type,
                      .seconds = ticket.seconds,
                      .nanoseconds = ticket.nanoseconds,
                      .level1_words = ticket.level1_words,
                      .level2_words = ticket.level2_words,
                      .fragments = data.fragments,
                      .payload = {}};
        return &item.event;
    }

    /// In a worker.
    void done(UnitItem&& item, Judgement&& judgement) {
        bool first = false;
        {
            const std::scoped_lock lock(mutex_);
            first = judged_.empty();
            judged_.emplace_back(std::move(item.task), std::move(judgement));
        }
        if (first) station_.loop_->call([] {});  // it collects all of them
    }

    UnitStation& station_;
    SelectionUnit unit_;
    RunNumber run_{};  // before the workers start
    Hanging hanging_;
    std::mutex mutex_;
    std::vector<std::pair<UnitTask, Judgement>> judged_;  // by workers; bounded by the unit's credit
    std::optional<WorkerThreads<UnitItem>> workers_;      // the last member: they use all others
};

UnitStation::UnitStation(UnitStationOptions options, service::Reports& reports, const Clock& clock)
    : options_(std::move(options)), reports_(reports), clock_(clock) {}

UnitStation::~UnitStation() { static_cast<void>(disconnect()); }

Result<> UnitStation::configure() {
    selection_ = WEIR_TRY(Selection::open(options_.selection));
    const std::vector kinds{StationKind::supervise, StationKind::readout};
    loop_ = WEIR_TRY(messaging::StationLoop::open({.thread = "input",
                                                   .loop = options_.loop,
                                                   .link = options_.link,
                                                   .speaks_with = kinds,
                                                   .watches = kinds,
                                                   .memory = options_.memory},
                                                  clock_));
    return {};
}

Peer UnitStation::self() const {
    return {.name = options_.name,
            .kind = StationKind::select,
            .id = options_.id,
            .dataflow = loop_ ? loop_->address() : "",
            .events = {},
            .sources = {},
            .tcp = options_.link == messaging::LinkKind::tcp};
}

Result<> UnitStation::connect(const std::vector<Peer>& peers) {
    logic_ = std::make_unique<Logic>(*this);
    logic_->unit().set_peers(peers);
    return loop_->connect(peers, *logic_);
}

Result<> UnitStation::start(RunNumber run) {
    loop_->begin_run(run, [&] {
        logic_->start_workers(run);
        logic_->unit().start_run();
    });
    return {};
}

Result<> UnitStation::start_again(RunNumber run) {
    distrust(*selection_, reports_);
    return start(run);
}

Result<> UnitStation::stop(std::chrono::milliseconds deadline) {
    loop_->drain();
    const bool idle = status_.wait_idle(deadline * 9 / 10);
    loop_->halt();
    logic_->stop_workers(idle ? 1000ms : std::max<std::chrono::milliseconds>(deadline / 10, 100ms));
    loop_->end_run([&] {
        logic_->forget_workers();
        logic_->unit().reject_unfinished();  // also what came while it was stopping; others have it now
    });
    return {};
}

Result<> UnitStation::disconnect() {
    if (loop_) loop_->disconnect();
    logic_.reset();
    status_.write({}, false);
    return {};
}

Result<> UnitStation::unconfigure() {
    logic_.reset();  // of a connect() that failed
    loop_.reset();
    selection_.reset();
    return {};
}

Result<> UnitStation::change_peers(const std::vector<Peer>& peers) {
    return loop_->change_peers(peers, [&] { logic_->unit().set_peers(peers); });
}

service::StationStatus UnitStation::status() const { return status_.read(); }

}  // namespace weir::selection
