// SPDX-License-Identifier: Apache-2.0
#include "station_control.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "weir/json/parse.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;

std::string seconds_text(std::chrono::milliseconds time) {
    return to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(time));
}

constexpr std::size_t error_max = 500;
constexpr auto rate_over = 3s;
constexpr auto stall = 1s;  // between two steps: run control did not run

}  // namespace

bool is_error_line(std::string_view line) {
    constexpr std::string_view time = "2026-11-23T02:36:14.123Z ";  // of the same length always
    const bool begins_with_time =
        line.size() > time.size() && line[10] == 'T' && line.substr(time.size() - 2, 2) == "Z ";
    if (begins_with_time) line.remove_prefix(time.size());
    return line.starts_with("error ") || line.starts_with("fatal ") || line.starts_with("weir ");
}

namespace {

/// The control port in {"station":"ros-1","kind":"readout","control":"127.0.0.1:41234"}.
Result<std::string> control_port(const std::string& line, const StationEntry& entry) {
    const auto document = WEIR_TRY(json::parse(line));
    json::Fields fields(document, "its first line");
    const auto station = fields.text("station");
    auto address = fields.text("control");
    WEIR_TRY(fields.result());
    if (station != entry.name) return fail(Errc::usage, fmt::format("calls itself {}", station));
    return address;
}

}  // namespace

std::string StationStep::text() const {
    switch (kind) {
        case Kind::launch: return "its launch";
        case Kind::transition: return name(transition);
        case Kind::change_peers: return "change_peers";
        case Kind::mask: return "mask";
        case Kind::report: return "a question for its status";
    }
    return {};
}

StationControl::StationControl(const StationEntry& entry, LaunchRequest request, const StationTimes& times,
                               Launcher& launcher, StationLinks& links)
    : entry_(entry),
      request_(std::move(request)),
      times_(times),
      launcher_(launcher),
      links_(links),
      log_(launcher_.log_of(request_)) {}

StationControl::~StationControl() { forget_process(); }

void StationControl::begin_run() {
    in_run_ = true;
    of_this_run_ = started_ = is_kept_ = false;
    kept_ = {};
    earlier_sources_ = {};
    events_.reset();
    process_started_.reset();
    counted_.clear();
    rate_ = 0;
}

void StationControl::end_run() noexcept {
    in_run_ = false;
    if (std::exchange(is_kept_, false)) of_this_run_ = true;  // the process that is there has counts of its own
}

std::vector<service::SourceStatus> StationControl::sources() const {
    auto all = earlier_sources_;
    all.add(status().sources);
    return all.list();
}

void StationControl::add(const StationStep& step) {
    if (step.kind == StationStep::Kind::launch) planned_ = service::StationState::initial;
    if (step.kind == StationStep::Kind::transition) planned_ = after(planned_, step.transition).value_or(planned_);
    steps_.push_back(step);
}

bool StationControl::adopt(SteadyTime now, std::chrono::milliseconds limit) {
    process_ = launcher_.adopt(request_);
    if (!process_) return false;
    steps_.assign(1, {StationStep::Kind::launch, service::Transition::configure, limit});
    begun_ = now;
    return true;
}

void StationControl::has_started(bool counts_are_of_it) noexcept {
    started_ = true;
    of_this_run_ = counts_are_of_it;
}

void StationControl::step(SteadyTime now, SteadyTime seen, RunNumber run, const std::vector<Peer>& peers,
                          const std::function<void(std::string_view)>& log_line) {
    seen_before_ = std::exchange(seen_, seen);
    if (now - log_read_ >= times_.poll) {
        read_log(log_line);
        log_read_ = now;
    }
    look_at_process(now, log_line);
    look_at_reports(now);
    go_on(now, run, peers);
}

void StationControl::read_log(const std::function<void(std::string_view)>& log_line) {
    log_->read([&](std::string_view line) {
        if (is_error_line(line)) last_error_ = line.substr(0, error_max);
        log_line(line);
    });
}

void StationControl::look_at_process(SteadyTime now, const std::function<void(std::string_view)>& log_line) {
    if (!process_) return;
    const auto end = process_->ended();
    if (!end) {
        if (kill_at_ && now >= *kill_at_) process_->kill();
        return;
    }
    const bool expected = ending();
    const auto where = end->why.empty() && !process_->host().empty() ? "on " + process_->host() + " " : std::string();
    forget_process();
    if (expected) return;
    read_log(log_line);
    fail({true, false,
          where + (end->signal != 0 || last_error_.empty() ? end->text()
                                                           : fmt::format("{}: {}", end->text(), last_error_))});
}

void StationControl::look_at_reports(SteadyTime now) {
    if (!link_) return;
    if (asking_) {
        if (auto report = link_->report()) {
            asking_ = false;
            if (*report) {
                take_report(std::move(**report), now);
            } else {
                fresh_ = false;
            }
        }
    }
    const bool wanted = begun_ && steps_.front().kind == StationStep::Kind::report && !fresh_;
    if (!asking_ && (wanted || now - asked_ >= times_.poll)) {
        link_->ask(wanted);
        asking_ = true;
        asking_events_ = wanted;
        asked_ = now;
        if (!silent_since_) silent_since_ = now;
        if (wanted) fresh_ = true;
    }
    // A station that writes its events may be silent for longer.
    const auto patience = asking_ && asking_events_ ? times_.silent_after + events_deadline : times_.silent_after;
    if (now - answered_at_ < patience || ending()) return;
    process_->kill();
    forget_process();
    fail({true, false, fmt::format("did not answer for {} and was killed", seconds_text(patience))});
}

void StationControl::take_report(service::StationReport report, SteadyTime now) {
    answered_at_ = now;
    silent_since_.reset();
    reported_ = reported_anew_ = true;
    if (report.events) events_ = std::exchange(report.events, nullptr);
    report_ = std::move(report);
    report_asked_ = asked_;
    // A call that was abandoned may arrive later all the same.
    if (steps_.empty() && report_asked_ > settled_ && !report_.transition) state_ = planned_ = report_.state;
    if (!of_this_run_ && process_started_ && asked_ >= *process_started_) {
        of_this_run_ = true;
        is_kept_ = false;
    }
    // Several that come back late, one after the other, are no selection that hangs: the age of the oldest counts. It
    // is not believed for more than what was seen here, because the station may have stood still.
    const auto hanging = report_.status.counters.find("hanging_seconds");
    if (hanging == report_.status.counters.end() || hanging->second <= 0) {
        hanging_since_.reset();
    } else {
        const std::chrono::duration<double> age(std::min(hanging->second, 1e6));
        hanging_since_ =
            std::max(hanging_since_.value_or(now), now - std::chrono::duration_cast<SteadyTime::duration>(age));
    }
    if (!of_this_run_) {
        counted_.clear();
        rate_ = 0;
        return;
    }
    const auto received = report_.status.ledger.received;
    if (!counted_.empty() && received < counted_.back().received) counted_.clear();  // another process
    // It may have waited here for long: when that was counted is not known, and the next answer comes soon.
    if (asking_events_ || seen_ - seen_before_ > stall) return;
    counted_.push_back({seen_before_, received});
    while (counted_.size() > 2 && seen_before_ - counted_[1].at >= rate_over) counted_.pop_front();
    const std::chrono::duration<double> time = counted_.back().at - counted_.front().at;
    rate_ = time.count() > 0 ? static_cast<double>(received - counted_.front().received) / time.count() : 0;
}

SteadyTime::duration StationControl::silence(SteadyTime now) const noexcept {
    if (!link_ || !silent_since_ || ending() || (asking_ && asking_events_)) return {};
    return now - *silent_since_;
}

void StationControl::go_on(SteadyTime now, RunNumber run, const std::vector<Peer>& peers) {
    while (!steps_.empty()) {
        if (!begun_) {
            begin(now, run, peers);
            if (steps_.empty()) return;  // it failed at once
        }
        const auto& step = steps_.front();
        bool ready = false;
        switch (step.kind) {
            case StationStep::Kind::launch: ready = launched(now); break;
            case StationStep::Kind::report: ready = fresh_ && !asking_; break;
            case StationStep::Kind::transition:
            case StationStep::Kind::change_peers:
            case StationStep::Kind::mask: ready = answered(now, run, peers); break;
        }
        if (steps_.empty()) return;
        if (!ready) {
            if (waits_for_machine(now)) return;
            if (steps_.empty()) return;
            if (now - *begun_ >= step.limit + step.grace)
                fail({false, false,
                      fmt::format("did not answer {} within {}{}", step.text(), seconds_text(step.limit),
                                  unanswered_ ? ": " + *unanswered_ : "")});
            return;
        }
        done(now);
    }
}

/// The time of a launch begins when its machine is there.
bool StationControl::waits_for_machine(SteadyTime now) {
    if (steps_.front().kind != StationStep::Kind::launch || !process_->waits()) {
        waits_since_.reset();
        return false;
    }
    if (!waits_since_) waits_since_ = now;
    begun_ = now;
    if (now - *waits_since_ >= times_.hosts_deadline) {
        const auto lacks = process_->waits_for();
        waits_since_.reset();
        fail(
            {false, false, fmt::format("was not started: {}, for {} now", lacks, seconds_text(times_.hosts_deadline))});
        return false;
    }
    return true;
}

/// A call that got no answer (its connection broke, or its time went by while this program was stopped) may have been
/// received all the same: the station's status shows whether it is done, goes on, or has to be called again.
bool StationControl::answered(SteadyTime now, RunNumber run, const std::vector<Peer>& peers) {
    const auto& step = steps_.front();
    if (const auto answer = link_->answer()) {
        if (*answer) return true;
        if (answer->error().answered && step.kind != StationStep::Kind::transition) {
            fail({false, true, fmt::format("{}: {}", step.text(), answer->error().why)});
            return false;
        }
        refused_ = answer->error().answered;  // also because an earlier call of it is under way, or has done it
        unanswered_ = answer->error().why;
        unanswered_at_ = now;
    }
    if (!unanswered_ || report_asked_ <= unanswered_at_ || report_.transition) return false;
    if (step.kind == StationStep::Kind::transition) {
        if (report_.error) {
            fail({false, true, fmt::format("{}: {}", step.text(), *report_.error)});
            return false;
        }
        if (report_.state == after(state_, step.transition)) return true;
        if (refused_) {
            fail({false, true, fmt::format("{}: {}", step.text(), *unanswered_)});
            return false;
        }
    }
    call(run, peers);
    return false;
}

void StationControl::begin(SteadyTime now, RunNumber run, const std::vector<Peer>& peers) {
    begun_ = now;
    unanswered_.reset();
    const auto& step = steps_.front();
    if (step.kind == StationStep::Kind::launch) {
        forget_process();
        auto process = launcher_.launch(request_);
        if (!process) return fail({true, false, process.error().message()});
        process_ = std::move(*process);
        last_error_.clear();
        return;
    }
    if (!link_) return fail({true, false, "is not there"});
    if (step.kind == StationStep::Kind::report) {
        fresh_ = false;
        return;
    }
    call(run, peers);
}

void StationControl::call(RunNumber run, const std::vector<Peer>& peers) {
    unanswered_.reset();
    refused_ = false;
    const auto& step = steps_.front();
    const bool change = step.kind == StationStep::Kind::change_peers;
    const auto deadline = step.limit * 9 / 10;  // a failure that the station reports by itself arrives in time
    const bool mask = step.kind == StationStep::Kind::mask;
    service::StationRequest request{
        .kind = change ? service::StationRequestKind::change_peers
                : mask ? service::StationRequestKind::mask
                       : service::StationRequestKind::transition,
        .transition = step.transition,
        .deadline = deadline,
    };
    if (mask) request.masks = masks_;
    if (change || (!mask && step.transition == service::Transition::connect)) request.peers = peers;
    if (!change && !mask && step.transition == service::Transition::start) {
        request.masks = masks_;
        request.run = run;
        request.again = started_;
    }
    link_->call(request);
}

bool StationControl::launched(SteadyTime now) {
    const auto line = process_->announcement();
    if (!line) return false;
    const auto address = control_port(*line, entry_);
    if (!address) {
        fail({false, true, fmt::format("announced itself wrongly: {}", address.error().context)});
        return false;
    }
    address_ = *address;
    link_ = links_.open(address_);
    asking_ = false;
    asked_ = {};
    answered_at_ = now;
    silent_since_.reset();
    return true;
}

void StationControl::done(SteadyTime now) {
    if (steps_.front().kind == StationStep::Kind::report) introduced_ = report_.self.has_value();
    if (steps_.front().kind == StationStep::Kind::transition) {
        state_ = after(state_, steps_.front().transition).value_or(state_);
        if (steps_.front().transition == service::Transition::start) {
            started_ = true;
            process_started_ = now;
        }
    }
    steps_.pop_front();
    begun_.reset();
    settled_ = asked_;
}

void StationControl::fail(StationTrouble trouble) {
    steps_.clear();
    begun_.reset();
    planned_ = state_;
    settled_ = asked_;
    trouble_ = std::move(trouble);
}

void StationControl::forget_process() {
    if (of_this_run_) earlier_sources_.add(report_.status.sources);
    report_.status.sources.clear();
    if (in_run_ && of_this_run_) {
        kept_ = report_.status;
        is_kept_ = true;
        of_this_run_ = false;
    }
    process_started_.reset();
    hanging_since_.reset();
    process_.reset();  // it is killed first, so that the link waits for no answer
    link_.reset();
    kill_at_.reset();
    state_ = service::StationState::initial;
    planned_ = steps_.empty() ? service::StationState::initial : planned_;
    asking_ = false;
    introduced_ = false;
}

void StationControl::end(SteadyTime now, std::chrono::milliseconds grace) {
    steps_.clear();
    begun_.reset();
    if (!process_ || ending()) return;
    process_->terminate();
    kill_at_ = now + grace;
}

void StationControl::kill_soon() noexcept {
    if (process_) process_->kill();
}

void StationControl::kill() {
    steps_.clear();
    begun_.reset();
    if (process_) process_->kill();
    forget_process();
}

}  // namespace weir::control
