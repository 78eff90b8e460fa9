// SPDX-License-Identifier: Apache-2.0
#include "weir/selection/unit_station.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "request_desk.hpp"
#include "selection_alarm.hpp"
#include "weir/base/assert.hpp"
#include "workers/hanging.hpp"
#include "workers/worker_threads.hpp"

namespace weir::selection {
namespace {

using namespace std::chrono_literals;

struct UnitItem {
    UnitTask task;
    std::unique_ptr<UnitEventRequests> requests{};
    Event event{};  // lies in the task
};

/// The unit in its loop, and the way to its workers and back.
class UnitLogic final : public station::StationLogic, public UnitWorkers {
public:
    UnitLogic(const UnitStationOptions& options, Selection& selection, messaging::StationLoop& loop,
              service::SharedStatus& status, Reporter report, const Clock& clock)
        : options_(options),
          selection_(selection),
          loop_(loop),
          status_(status),
          report_(std::move(report)),
          clock_(clock),
          unit_(options.unit, loop.endpoint(), *this, [this](Report one) {
              one.where = selection_.name();
              report_(std::move(one));
          }) {}

    Result<> set_peers(const std::vector<Peer>& peers, SteadyTime) override {
        unit_.set_peers(peers);
        return {};
    }
    ~UnitLogic() override { release_workers(); }

    /// Again: a library of threads runs in processes then; it may be what ended the process before.
    Result<> prepare_run(RunNumber, bool again) override {
        if (again) distrust(selection_, report_);
        return {};
    }
    void start_run(RunNumber run, SteadyTime) override {
        start_workers(run);
        unit_.start_run();
    }
    bool force(SteadyTime) override { return false; }  // the rest of the time is for the workers
    void stop_workers(bool idle, std::chrono::milliseconds deadline) override {
        release_workers();
        const auto at_most = idle ? 1000ms : std::max<std::chrono::milliseconds>(deadline / 10, 100ms);
        if (workers_ && !workers_->stop(at_most))
            report_.warning(fmt::format("the selection {} hangs: its threads were left behind", selection_.name()));
    }
    void end_run() override {
        collect();
        workers_.reset();
        unit_.reject_unfinished();  // also what came while it was stopping; others have it now
    }

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
        if (!desk_) return;
        for (auto& request : desk_->take()) unit_.requested(std::move(request), clock_.now());
    }
    std::optional<SteadyTime> step(SteadyTime now) override { return unit_.step(now); }

    /// An event whose data are there goes to the next free worker.
    void take(UnitTask task) override {
        UnitItem item{std::move(task)};
        const bool taken = workers_->push(item);
        WEIR_ASSERT(taken);  // bounded by the unit's credit, far below the queue
    }

    void take_requested(std::uint64_t id, std::unique_ptr<CollectedEvent> fragments) override {
        if (desk_) desk_->answer(id, std::move(fragments));
    }

    void publish_status() override {
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
                           {"steps", double(counts.steps)},
                           {"waiting", double(counts.waiting)},
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
        status.levels = {"waiting", "collecting", "computing", "round_trip_seconds", "hanging", "hanging_seconds"};
        if (workers_) {
            status.counters["worker_restarts"] = double(workers_->restarts());
            std::vector<GlobalEventId> stuck;
            double seconds = 0;
            if (!selection_.in_processes()) {
                const auto limit = hangs_after(options_.selection.time_limit);
                const auto now = clock_.now();
                stuck = workers_->stuck(now, limit);
                seconds = hanging_seconds(workers_->longest(now), limit);
            }
            status.counters["hanging"] = double(stuck.size());
            status.counters["hanging_seconds"] = seconds;
            hanging_.look(stuck, selection_.name(), report_);
        }
        const auto stats = loop_.stats();
        status.counters["posts_resent"] = double(stats.endpoint.reliable_resent);
        status.counters["kernel_drops"] = double(stats.kernel_drops);
        status.counters["foreign_address"] = double(stats.foreign_address);
        status_.write(std::move(status), unit_.idle() && all_sent());
    }

private:
    void start_workers(RunNumber run) {
        run_ = run;
        desk_ = std::make_shared<RequestDesk>([this] { loop_.call([] {}); });
        workers_.emplace("worker", options_.unit.workers, std::size_t{1} << 20, selection_,
                         WorkerThreads<UnitItem>::Calls{
                             .view = [this](UnitItem& item) { return view(item); },
                             .done = [this](UnitItem&& item, Judgement&& judgement,
                                            const std::stop_token&) { done(std::move(item), std::move(judgement)); }},
                         clock_);
    }
    /// Nobody waits for fragments any more. The workers know first that they stop: a selection that gets nothing
    /// because of that does not decide.
    void release_workers() {
        if (workers_) workers_->request_stop();
        if (desk_) desk_->close();
    }
    /// The supervisor's acknowledgement is not waited for: it stops before its units, and whether it still acknowledges
    /// their last word is chance. A station that is gone is sent nothing.
    bool all_sent() const {
        const auto& endpoint = loop_.endpoint();
        const auto supervisor = unit_.supervisor();
        const auto results = unit_.results_to();
        return (!supervisor || !endpoint.reachable(*supervisor) || unit_.verdicts_sent()) &&
               (!results || !endpoint.reachable(*results) ||
                (unit_.results_sent() && endpoint.reliable_in_flight(*results) == 0));
    }
    const Event* view(UnitItem& item) const {
        const auto& data = *item.task.data;
        item.requests = std::make_unique<UnitEventRequests>(desk_, item.task);
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
                      .payload = {},
                      .requests = item.requests.get()};
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
        if (first) loop_.call([] {});  // it collects all of them
    }

    const UnitStationOptions& options_;
    Selection& selection_;
    messaging::StationLoop& loop_;
    service::SharedStatus& status_;
    const Reporter report_;
    const Clock& clock_;
    SelectionUnit unit_;
    RunNumber run_{};  // before the workers start
    Hanging hanging_;
    std::shared_ptr<RequestDesk> desk_;  // of the run; with its workers
    std::mutex mutex_;
    std::vector<std::pair<UnitTask, Judgement>> judged_;  // by workers; bounded by the unit's credit
    std::optional<WorkerThreads<UnitItem>> workers_;      // the last member: they use all others
};

station::LoopStationOptions around(const UnitStationOptions& options) {
    const std::vector kinds{StationKind::supervise, StationKind::readout};
    return {.name = options.name,
            .kind = StationKind::select,
            .id = options.id,
            .loop = {.thread = "input",
                     .loop = options.loop,
                     .link = options.link,
                     .speaks_with = kinds,
                     .watches = kinds,
                     .memory = options.memory}};
}

}  // namespace

UnitStation::UnitStation(UnitStationOptions options, Reporter report, const Clock& clock)
    : LoopStation(
          around(options),
          [options, report = std::move(report), &clock]() -> Result<MakeLogic> {
              auto spec = options.selection;
              spec.clock = &clock;
              auto opened = WEIR_TRY(Selection::open(spec));
              const auto selection = std::make_shared<Selection>(std::move(opened));  // a std::function is copied
              return
                  [&options, selection, &report, &clock](messaging::StationLoop& loop, service::SharedStatus& status) {
                      return std::make_unique<UnitLogic>(options, *selection, loop, status, report, clock);
                  };
          },
          clock) {}

}  // namespace weir::selection
