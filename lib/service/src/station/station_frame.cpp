// SPDX-License-Identifier: Apache-2.0
#include "weir/service/station_frame.hpp"

#include <future>
#include <utility>

#include "control/control_routes.hpp"
#include "station/frame_loop.hpp"
#include "station/station_metrics.hpp"
#include "weir/service/http_server.hpp"

namespace weir::service {

class StationFrame::Frame {
public:
    Frame(Station& station, const StationFrameOptions& options, const StationServices& services)
        : loop(station, options, services),
          collection(collect_station(
              services.metrics, [this] { return loop.report(); }, [this] { return loop.transition_durations(); },
              services.threads)),
          report_timer(
              services.timers.every(std::chrono::milliseconds{500}, [&reports = services.reports] { reports.step(); })),
          tap_timer(services.timers.every(
              std::chrono::milliseconds{100},
              [&samples = services.samples, &clock = services.clock] { samples.tap().expire(clock.now()); })) {
        if (options.tap_matches) services.samples.tap().match_by(options.tap_matches);
    }

    FrameLoop loop;
    Metrics::Collection collection;
    Metrics::Collection certificate;
    Timers::Periodic report_timer;
    Timers::Periodic tap_timer;
    std::optional<HttpServer> server;  // the last member: no request comes in while the rest ends
};

StationFrame::StationFrame(std::unique_ptr<Frame> frame) : frame_(std::move(frame)) {}
StationFrame::~StationFrame() = default;

Result<std::unique_ptr<StationFrame>> StationFrame::start(Station& station, const StationFrameOptions& options,
                                                          const StationServices& services) {
    // The threads made here enter the accounts of this process, on whichever thread this is called.
    std::optional<ThreadAccounts::Entry> entry;
    if (ThreadAccounts::of_this_thread() != &services.threads) entry.emplace(services.threads, "starter");
    services.timers.start();
    auto frame = std::make_unique<Frame>(station, options, services);
    if (!options.control.empty()) {
        frame->server =
            WEIR_TRY(HttpServer::start({.listen = options.control,
                                        .access = options.access,
                                        .plain = options.plain && options.read_only,
                                        .refused = report_refusals(services.reports.reporter(), options.name)},
                                       control_routes(frame->loop, services, options)));
        if (options.access) frame->certificate = WEIR_TRY(collect_certificate(services.metrics, options.access->tls));
    }
    return std::unique_ptr<StationFrame>(new StationFrame(std::move(frame)));
}

std::string StationFrame::control_address() const { return frame_->server ? frame_->server->address() : std::string(); }

void StationFrame::request(StationRequest request, std::function<void(const StationAnswer&)> answered) {
    frame_->loop.request(std::move(request), std::move(answered));
}

StationAnswer StationFrame::request(StationRequest request) {
    const auto promise = std::make_shared<std::promise<StationAnswer>>();  // shared with the thread that answers
    auto answer = promise->get_future();
    frame_->loop.request(std::move(request), [promise](const StationAnswer& given) { promise->set_value(given); });
    const ScopedWait wait(WaitCause::queue);
    return answer.get();
}

Result<> StationFrame::wind_down(std::chrono::milliseconds stop_deadline) {
    Result<> first;
    while (true) {
        frame_->loop.wait_idle();
        StationRequest next;
        switch (state()) {
            case StationState::initial: return first;
            case StationState::configured: next.transition = Transition::unconfigure; break;
            case StationState::connected: next.transition = Transition::disconnect; break;
            case StationState::running:
            case StationState::paused:
                next.transition = Transition::stop;
                next.deadline = stop_deadline;
                break;
        }
        const auto answer = request(next);
        // Refused: another request came first; late: the watchdog reports it. Both are waited for above.
        const bool bad =
            answer.outcome == StationAnswer::Outcome::failed || answer.outcome == StationAnswer::Outcome::late;
        if (bad && first) first = fail(Errc::refused, answer.error);
    }
}

bool StationFrame::wait_for_exit(std::chrono::milliseconds at_most) const {
    return frame_->loop.wait_for_exit(at_most);
}
StationState StationFrame::state() const { return frame_->loop.state(); }
StationReport StationFrame::report() const { return frame_->loop.report(); }
std::vector<StateMachine::Step> StationFrame::history() const { return frame_->loop.history(); }

}  // namespace weir::service
