// SPDX-License-Identifier: Apache-2.0
#include "weir/handoff/hand_off.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "hand_off_work.hpp"

namespace weir::handoff {
namespace {

constexpr unsigned orphan_failures_max = 3;

std::vector<std::string> names_of(const std::vector<std::unique_ptr<Destination>>& destinations) {
    std::vector<std::string> names;
    for (const auto& destination : destinations) names.push_back(destination->name());
    return names;
}

}  // namespace

Result<std::unique_ptr<HandOff>> HandOff::create(catalogue::Catalogue& catalogue,
                                                 std::vector<std::unique_ptr<Destination>> destinations,
                                                 HandOffOptions options, const Clock& clock, Reporter report) {
    if (destinations.empty()) return fail(Errc::usage, "no destination; name one with --to");
    auto names = names_of(destinations);
    std::ranges::sort(names);
    if (const auto same = std::ranges::adjacent_find(names); same != names.end())
        return fail(
            Errc::usage,
            fmt::format("two destinations have the name \"{}\"; give them names of their own: NAME=URL", *same));
    options.patterns.resize(destinations.size());
    options.concurrency = std::max(1U, options.concurrency);
    options.tries = std::max(1U, options.tries);
    return std::unique_ptr<HandOff>(new HandOff(
        std::make_unique<Work>(catalogue, std::move(destinations), std::move(options), clock, std::move(report))));
}

HandOff::HandOff(std::unique_ptr<Work> work) : work_(std::move(work)) {}
HandOff::~HandOff() = default;

void HandOff::start() { work_->start(); }
bool HandOff::wait_until_over(std::chrono::milliseconds at_most) { return work_->wait_until_over(at_most); }
bool HandOff::finish_run(RunNumber run, std::chrono::milliseconds at_most) { return work_->finish_run(run, at_most); }
bool HandOff::stop(std::chrono::milliseconds deadline) { return work_->stop(deadline); }
HandOffSummary HandOff::summary() const { return work_->summary(); }

HandOff::Work::Work(catalogue::Catalogue& catalogue, std::vector<std::unique_ptr<Destination>> destinations,
                    HandOffOptions options, const Clock& clock, Reporter report)
    : catalogue_(catalogue),
      destinations_(std::move(destinations)),
      options_(std::move(options)),
      clock_(clock),
      report_(std::move(report)),
      backoff_(options_.retry_first, options_.retry_most, std::random_device{}()),
      begin_(clock.now()),
      plan_(names_of(destinations_), options_.priorities) {
    if (options_.rate.count() > 0) limit_.emplace(clock, options_.rate);
    for (std::size_t i = 0; i < destinations_.size(); ++i) {
        auto& session = *sessions_.emplace_back(std::make_unique<Session>());
        session.destination = destinations_[i].get();
        session.pattern = options_.patterns[i];
        session.options = options_.transfer;
        session.options.limit = limit_ ? &*limit_ : nullptr;
        session.options.progress = [&session](std::uint64_t bytes) {
            session.bytes_sent.fetch_add(bytes, std::memory_order_relaxed);
        };
        session.transfer =
            std::make_unique<Transfer>(catalogue_, *session.destination, backoff_, session.options, clock_);
        session.counts.name = session.destination->name();
    }
    deletion_.emplace(
        catalogue_, destinations_,
        [this](std::size_t d, const catalogue::FileRow& file) { return place_of(file, sessions_[d]->pattern); },
        options_.recorder, options_.deletion, options_.transfer.answer, clock_);
}

HandOff::Work::~Work() {
    stop_.request_stop();
    for (auto& thread : threads_) thread.join();
}

void HandOff::Work::run_thread(std::function<void(const std::stop_token&)> work) {
    ++threads_running_;
    threads_.emplace_back([this, work = std::move(work)] {
        work(stop_.get_token());
        {
            const std::scoped_lock lock(mutex_);
            --threads_running_;
        }
        changed_.notify_all();
    });
}

void HandOff::Work::start() {
    const std::scoped_lock lock(mutex_);
    run_thread([this](const std::stop_token& stop) { look(stop); });
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
        for (unsigned t = 0; t < options_.concurrency; ++t)
            run_thread([this, i](const std::stop_token& stop) { copy_files(*sessions_[i], i, stop); });
    }
    if (options_.deletion.above_percent < 100 && !options_.once)
        run_thread([this](const std::stop_token& stop) { delete_files(stop); });
}

void HandOff::Work::wait(std::unique_lock<std::mutex>& lock, std::chrono::nanoseconds time,
                         const std::stop_token& stop) {
    changed_.wait_for(lock, stop, time, [woken = false]() mutable { return std::exchange(woken, true); });
}

// Copying -----------------------------------------------------------------------------------------------

void HandOff::Work::copy_files(Session& session, std::size_t number, const std::stop_token& stop) {
    while (auto job = next_job(session, number, stop)) {
        TransferResult result;
        if (const auto place = place_of(job->file, session.pattern)) {
            result = session.transfer->run(job->file, *place, job->row, stop);
        } else {
            result = {Outcome::failed, Trouble::source, place.error().message(), 0};
        }
        finish(session, number, *job, result);
        clean_orphans(session, stop);
    }
    clean_orphans(session, stop);
}

std::optional<Job> HandOff::Work::next_job(Session& session, std::size_t number, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
        const auto now = clock_.now();
        const bool may = looked_ && now >= session.not_before && !session.probing;
        if (may) {
            if (auto job = plan_.take(number, now)) {
                session.probing = session.failures > 0;
                if (!first_taken_) first_taken_ = now;
                return job;
            }
        }
        if (options_.once && looked_ && plan_.is_over(number)) return std::nullopt;
        auto until = now + options_.poll;
        if (session.not_before > now) until = std::min(until, session.not_before);
        if (const auto next = plan_.next_time(number); next && *next > now) until = std::min(until, *next);
        wait(lock, until - now, stop);
    }
    return std::nullopt;
}

void HandOff::Work::finish(Session& session, std::size_t number, const Job& job, const TransferResult& result) {
    report_failure(session, job, result);
    bool all = false;
    {
        const std::scoped_lock lock(mutex_);
        const auto now = clock_.now();
        session.probing = false;
        auto again = std::optional(now + backoff_.after(job.tries));
        switch (result.outcome) {
            case Outcome::transferred:
                ++session.counts.transferred;
                session.counts.bytes += job.file.bytes;
                last_verified_ = now;
                again.reset();
                break;
            case Outcome::quarantined: ++counts_.files_quarantined; [[fallthrough]];
            case Outcome::gone: again.reset(); break;
            case Outcome::stopped: again = now; break;
            case Outcome::unverified: ++session.counts.unverified; break;
            case Outcome::failed: ++session.counts.failed; break;
        }
        if (result.trouble == Trouble::destination) {
            ++session.failures;
            session.not_before = now + backoff_.after(session.failures);
        } else if (result.outcome != Outcome::stopped && result.trouble != Trouble::catalogue) {
            session.failures = 0;
            session.not_before = {};
        }
        if (result.trouble == Trouble::wrong_bytes) ++session.counts.wrong_bytes;
        if (result.trouble == Trouble::catalogue) ++counts_.catalogue_failures;
        session.counts.up = session.failures == 0;
        if (result.outcome == Outcome::failed || result.outcome == Outcome::unverified)
            session.counts.error = result.why;
        if (options_.once && again && result.outcome != Outcome::stopped && job.tries >= options_.tries) {
            ++session.counts.abandoned;
            again.reset();
        }
        plan_.end_attempt(number, job.row, again);
        if (options_.once && session.failures >= options_.tries) session.counts.abandoned += plan_.abandon(number);
        all = result.outcome == Outcome::transferred && plan_.complete(job.file.guid);
        if (all) to_be_completed_.emplace(job.file.guid, Completion{job.file.run});
    }
    changed_.notify_all();
    if (all) complete_files();
}

void HandOff::Work::clean_orphans(Session& session, const std::stop_token& stop) {
    std::vector<std::pair<std::string, catalogue::TransferRow>> orphans;
    {
        const std::scoped_lock lock(mutex_);
        orphans.swap(session.orphans);
    }
    std::vector<std::pair<std::string, catalogue::TransferRow>> left;
    unsigned failures = 0;  // in sequence: a destination that hangs is not asked about each of them
    for (auto& [place, row] : orphans) {
        if (stop.stop_requested()) return;  // found again by the next start
        if (failures >= orphan_failures_max || !session.transfer->clean(place, row, stop)) {
            ++failures;
            left.emplace_back(std::move(place), std::move(row));
            continue;
        }
        failures = 0;
        row.state = catalogue::CopyState::pending;
        row.next_try.reset();
        row.changed = clock_.wall();
        static_cast<void>(catalogue_.set_transfer(row));  // else it is cleaned once more
    }
    const std::scoped_lock lock(mutex_);
    session.orphans.insert(session.orphans.end(), std::make_move_iterator(left.begin()),
                           std::make_move_iterator(left.end()));
}

// Making room -------------------------------------------------------------------------------------------

void HandOff::Work::delete_files(const std::stop_token& stop) {
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, stop, [&] { return looked_; });  // what an earlier process left has its name back by then
    }
    do {
        const auto outcome = deletion_->step(stop);
        if (!outcome) {
            report_(report_of(Severity::warning, "no room can be made; tried again", outcome.error()));
        } else {
            for (const auto& why : outcome->kept) {
                report_({.severity = Severity::error,
                         .what = "a file that was handed over is not deleted",
                         .why = why,
                         .advice = "look at the copy; nothing was lost here",
                         .alarm = "handoff-kept"});
            }
        }
        std::unique_lock lock(mutex_);
        if (outcome) {
            counts_.files_deleted += outcome->files;
            counts_.bytes_deleted += outcome->bytes;
        }
        if (!options_.once)
            wait(lock, std::max<std::chrono::milliseconds>(options_.poll, std::chrono::milliseconds{100}), stop);
    } while (!options_.once && !stop.stop_requested());
}

// From outside ------------------------------------------------------------------------------------------

bool HandOff::Work::over_in_lock() const {
    if (!looked_ || !to_be_completed_.empty()) return false;
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
        if (!plan_.is_over(i)) return false;
    }
    return true;
}

bool HandOff::Work::wait_until_over(std::chrono::milliseconds at_most) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, at_most, [&] { return threads_running_ == 0; });
}

bool HandOff::Work::finish_run(RunNumber run, std::chrono::milliseconds at_most) {
    std::unique_lock lock(mutex_);
    const auto look = ++looks_wanted_;
    changed_.notify_all();
    const auto done = [&] {
        return looks_done_ >= look && !plan_.waits_for(run) &&
               std::ranges::none_of(to_be_completed_, [&](const auto& item) { return item.second.run == run; });
    };
    return changed_.wait_for(lock, stop_.get_token(), at_most, done);
}

bool HandOff::Work::stop(std::chrono::milliseconds deadline) {
    stop_.request_stop();
    changed_.notify_all();
    {
        std::unique_lock lock(mutex_);
        if (!changed_.wait_for(lock, deadline, [&] { return threads_running_ == 0; })) return false;
    }
    for (auto& thread : threads_) thread.join();
    threads_.clear();
    return true;
}

HandOffSummary HandOff::Work::summary() const {
    const std::scoped_lock lock(mutex_);
    auto summary = counts_;
    summary.files_open = plan_.incomplete() + to_be_completed_.size();
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
        auto& one = summary.destinations.emplace_back(sessions_[i]->counts);
        one.bytes_sent = sessions_[i]->bytes_sent.load(std::memory_order_relaxed);
        const auto standing = plan_.standing(i);
        one.waiting = standing.waiting;
        one.in_hand = standing.in_hand;
        one.oldest = standing.oldest;
    }
    summary.running = clock_.now() - begin_;
    if (first_taken_ && last_verified_) summary.busy = *last_verified_ - *first_taken_;
    return summary;
}

}  // namespace weir::handoff
