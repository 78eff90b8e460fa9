// SPDX-License-Identifier: Apache-2.0
#include "station/frame_loop.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "weir/base/assert.hpp"

namespace weir::service {
namespace {

constexpr std::chrono::milliseconds way_back{250};  // of a stop

void end_at_once(int code) { ::_exit(code); }

}  // namespace

FrameLoop::FrameLoop(Station& station, const StationFrameOptions& options, const StationServices& services)
    : station_(station), options_(options), services_(services), machine_(options.grace) {
    thread_ = NamedThread(&services_.threads, "frame", [this](const std::stop_token& stop) { run(stop); });
    watchdog_ = NamedThread(&services_.threads, "watchdog", [this](const std::stop_token& stop) { watch(stop); });
}

FrameLoop::~FrameLoop() { thread_ = {}; }  // the watchdog goes last: what hangs here must not hang for good

std::chrono::milliseconds FrameLoop::deadline_of(const StationRequest& request) const {
    if (request.deadline) return *request.deadline;
    const auto own = request.kind == StationRequestKind::transition ? options_.deadlines.find(request.transition)
                                                                    : options_.deadlines.end();
    return own == options_.deadlines.end() ? options_.deadline : own->second;
}

void FrameLoop::request(StationRequest request, StationAnswered answered) {
    std::unique_lock lock(mutex_);
    const auto deadline = deadline_of(request);
    const auto now = services_.clock.now();
    const auto wall = services_.clock.wall();
    Result<> begun;
    switch (request.kind) {
        case StationRequestKind::transition: begun = machine_.begin(request.transition, now, wall, deadline); break;
        case StationRequestKind::change_peers: begun = machine_.begin_change_peers(now, wall, deadline); break;
        case StationRequestKind::mask: begun = machine_.begin_mask(now, wall, deadline); break;
        case StationRequestKind::exit: exit_ = true; break;
    }
    if (!begun || request.kind == StationRequestKind::exit) {
        const StationAnswer answer{begun ? StationAnswer::Outcome::done : StationAnswer::Outcome::refused,
                                   machine_.state(), begun ? std::string() : begun.error().message()};
        changed_.notify_all();
        lock.unlock();
        return answered(answer);
    }
    if (request.run) run_ = request.run;
    job_ = Job{std::move(request), deadline, std::move(answered)};
    taken_ = false;
    changed_.notify_all();
}

void FrameLoop::run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (true) {
        {
            const ScopedWait wait(WaitCause::queue);
            changed_.wait(lock, stop, [&] { return job_ && !taken_; });
        }
        if (!job_) return;  // stopped; what was asked for before is still done
        taken_ = true;
        const auto& job = *job_;  // stays where it is until we take it away; the watchdog only takes its `answered`
        lock.unlock();
        auto result = execute(job);
        std::optional<Peer> self;
        const bool unconfigures =
            job.request.kind == StationRequestKind::transition && job.request.transition == Transition::unconfigure;
        if (result && !unconfigures) self = station_.self();
        if (!result && !options_.asker_reports)
            services_.reports.submit(
                report_of(Severity::error, fmt::format("{} failed", name(job.request)), result.error()));
        lock.lock();
        if (self || unconfigures) self_ = std::move(self);
        machine_.end(result, services_.clock.now());
        const auto& step = machine_.history().back();
        durations_[step.name].add(step.took);
        const StationAnswer answer{result ? StationAnswer::Outcome::done : StationAnswer::Outcome::failed,
                                   machine_.state(), result ? std::string() : result.error().message(),
                                   result ? std::nullopt : std::optional(result.error())};
        auto answered = std::move(job_->answered);
        job_.reset();
        changed_.notify_all();
        lock.unlock();
        if (answered) answered(answer);
        lock.lock();
    }
}

Result<> FrameLoop::execute(const Job& job) {
    const ScopedWork work(name(job.request));
    try {
        if (job.request.kind == StationRequestKind::change_peers) return station_.change_peers(job.request.peers);
        if (job.request.kind == StationRequestKind::mask) return station_.set_masks(job.request.masks);
        return execute_transition(job);
    } catch (const std::exception& error) {  // a library or a plug-in: the station has failed, not the frame
        return fail(Errc::refused, fmt::format("{} threw: {}", name(job.request), error.what()));
    }
}

Result<> FrameLoop::execute_transition(const Job& job) {
    switch (job.request.transition) {
        case Transition::configure: return station_.configure();
        case Transition::connect: return station_.connect(job.request.peers);
        case Transition::start: {
            services_.samples.clear();
            const auto run = job.request.run.value_or(RunNumber{});
            WEIR_TRY(station_.set_masks(job.request.masks));
            return job.request.again ? station_.start_again(run) : station_.start(run);
        }
        case Transition::pause: return station_.pause();
        case Transition::resume: return station_.resume();
        // Some time is kept for the way back, so that a stop that uses all of its time is not late: connections and
        // threads end behind it.
        case Transition::stop:
            return station_.stop(job.deadline - std::max(job.deadline / 10, std::min(job.deadline / 2, way_back)));
        case Transition::disconnect: return station_.disconnect();
        case Transition::unconfigure: return station_.unconfigure();
    }
    return {};
}

void FrameLoop::watch(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
        switch (machine_.look(services_.clock.now())) {
            case Lateness::late: report_late(lock); continue;
            case Lateness::hopeless: report_hopeless(lock); continue;
            case Lateness::in_time: break;
        }
        const auto next = machine_.next_look();
        const auto seen = machine_.under_way() ? machine_.under_way()->began : SteadyTime{};
        const bool busy = machine_.busy();
        const auto other = [&] { return machine_.busy() != busy || (busy && machine_.under_way()->began != seen); };
        const ScopedWait wait(WaitCause::timer);
        if (next) {
            changed_.wait_for(lock, stop, *next - services_.clock.now(), other);
        } else {
            changed_.wait(lock, stop, other);
        }
    }
}

void FrameLoop::report_late(std::unique_lock<std::mutex>& lock) {
    const auto late = *machine_.under_way();
    const StationAnswer answer{StationAnswer::Outcome::late, machine_.state(),
                               fmt::format("{} is not done after {}, and goes on", late.name,
                                           to_string(std::chrono::nanoseconds(late.deadline)))};
    auto answered = std::exchange(job_->answered, {});
    lock.unlock();
    services_.reports.submit(
        {.severity = Severity::error,
         .what = late.name + " is past its deadline",
         .why = fmt::format("it is not done after {}", to_string(std::chrono::nanoseconds(late.deadline)))});
    if (answered) answered(answer);
    lock.lock();
}

void FrameLoop::report_hopeless(std::unique_lock<std::mutex>& lock) {
    const auto late = *machine_.under_way();
    lock.unlock();
    services_.reports.submit({.severity = Severity::fatal,
                              .what = late.name + " hangs",
                              .why = fmt::format("it is not done {} after its deadline of {}",
                                                 to_string(std::chrono::nanoseconds(options_.grace)),
                                                 to_string(std::chrono::nanoseconds(late.deadline))),
                              .advice = "the process ends itself"});
    (options_.end_process ? options_.end_process : end_at_once)(exit_hopeless);
    lock.lock();
}

void FrameLoop::wait_idle() {
    std::unique_lock lock(mutex_);
    const ScopedWait wait(WaitCause::queue);
    changed_.wait(lock, [&] { return !machine_.busy(); });
}

bool FrameLoop::wait_for_exit(std::chrono::milliseconds at_most) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, at_most, [&] { return exit_; });
}

StationState FrameLoop::state() const {
    const std::scoped_lock lock(mutex_);
    return machine_.state();
}

TransitionDurations FrameLoop::transition_durations() const {
    const std::scoped_lock lock(mutex_);
    TransitionDurations all;
    for (const auto& [name, histogram] : durations_) all[name] = histogram.durations();
    return all;
}

std::vector<StateMachine::Step> FrameLoop::history() const {
    const std::scoped_lock lock(mutex_);
    return {machine_.history().begin(), machine_.history().end()};
}

StationReport FrameLoop::report() const {
    StationReport report;
    report.station = options_.name;
    report.kind = options_.kind;
    report.id = options_.id;
    report.pid = static_cast<std::uint64_t>(::getpid());
    {
        const std::scoped_lock lock(mutex_);
        report.state = machine_.state();
        report.run = run_;
        report.error = machine_.error();
        report.self = self_;
        if (const auto& way = machine_.under_way()) report.transition = {way->name, services_.clock.now() - way->began};
    }
    report.status = station_.status();
    if (!report.run) report.run = report.status.run;
    for (const auto& alarm : services_.reports.alarms()) report.alarms.push_back(latched_alarm(alarm));
    return report;
}

}  // namespace weir::service
