// SPDX-License-Identifier: Apache-2.0
#include "weir/control/lone_page.hpp"

#include <mutex>
#include <utility>

#include "weir/control/run_page.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;

constexpr auto rate_interval = 900ms;  // less than the second between two looks

class LogBookSink final : public service::ReportSink {
public:
    explicit LogBookSink(LogBook& log) : log_(log) {}
    void show(const service::SubmittedReport& report) override {
        log_.add(report.when, report.who, service::one_line(report));
    }

private:
    LogBook& log_;
};

std::uint64_t recorded_by(const service::StationStatus& status) {
    const auto found = status.counters.find("events_recorded");
    return found == status.counters.end() ? 0 : static_cast<std::uint64_t>(found->second);
}

}  // namespace

class LonePage::State {
public:
    State(LoneStation station, LogBook& log, service::Reports& reports, service::Timers& timers, const Clock& clock)
        : station_(std::move(station)),
          partition_{.name = station_.name, .stations = {{.kind = station_.kind, .name = station_.name}}},
          clock_(clock),
          begun_(clock.now()),
          begun_wall_(clock.wall()),
          page_({.partition = partition_, .view = [this] { return view(); }, .log = log, .reports = reports},
                {.archive = {.catalogues = station_.catalogues}}, timers, clock) {}

    PartitionView view() {
        StationView shown;
        shown.entry = partition_.stations.front();
        shown.report.status = station_.status();
        const auto& status = shown.report.status;
        const auto now = clock_.now();
        const bool over = station_.over();
        auto ended = now;
        shown.state = over ? "configured" : "running";
        {
            const std::scoped_lock lock(mutex_);
            if (now - rate_at_ >= rate_interval) {
                const auto before = std::exchange(received_, status.ledger.received);
                const auto seconds = std::chrono::duration<double>(now - std::exchange(rate_at_, now)).count();
                rate_ = received_ > before ? static_cast<double>(received_ - before) / seconds : 0;
            }
            if (!over) ended_ = now;
            ended = ended_;
            shown.rate = rate_;
            shown.counted_at = now;
        }
        PartitionView view;
        view.state = over ? PartitionState::ready : PartitionState::running;
        view.run = status.run.value_or(RunNumber{});
        view.started = begun_wall_;
        view.seconds = std::chrono::duration<double>(ended - begun_).count();
        view.events.recorded = recorded_by(status);
        view.stations.push_back(std::move(shown));
        return view;
    }

    const LoneStation station_;
    const Partition partition_;
    const Clock& clock_;
    const SteadyTime begun_;
    const WallTime begun_wall_;
    std::mutex mutex_;
    SteadyTime rate_at_{}, ended_ = begun_;
    std::uint64_t received_ = 0;
    double rate_ = 0;
    RunPage page_;  // the last member: it looks at the rest
};

LonePage::LonePage(LoneStation station, LogBook& log, service::Reports& reports, service::Timers& timers,
                   const Clock& clock)
    : state_(std::make_unique<State>(std::move(station), log, reports, timers, clock)) {}
LonePage::~LonePage() = default;

std::vector<service::HttpRoute> LonePage::routes() { return state_->page_.routes(); }

std::unique_ptr<service::ReportSink> log_book_sink(LogBook& log) { return std::make_unique<LogBookSink>(log); }

}  // namespace weir::control
