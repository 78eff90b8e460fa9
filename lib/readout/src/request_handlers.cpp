// SPDX-License-Identifier: Apache-2.0
#include "weir/readout/request_handlers.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <utility>

#include "weir/base/assert.hpp"

namespace weir::readout {
namespace {

constexpr std::array strategies{"yield", "spin", "park"};

void relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield" ::: "memory");
#endif
}

}  // namespace

const char* name(WaitStrategy strategy) noexcept { return strategies[static_cast<std::size_t>(strategy)]; }

std::optional<WaitStrategy> parse_wait_strategy(std::string_view text) noexcept {
    const auto found = std::ranges::find(strategies, text);
    if (found == strategies.end()) return std::nullopt;
    return static_cast<WaitStrategy>(found - strategies.begin());
}

RequestHandlers::RequestHandlers(RobStore& store, const RequestHandlerOptions& options, const Clock& clock,
                                 std::function<void()> answers_made, std::function<void(Level1Id, SteadyTime)> missing)
    : store_(store),
      options_(options),
      clock_(clock),
      answers_made_(std::move(answers_made)),
      missing_(std::move(missing)),
      jobs_(std::max<std::uint32_t>(options.requests_max, 1)) {
    WEIR_ASSERT(options.handlers > 0);
    const std::size_t answers = 4 * std::size_t{options.handlers} + 16;
    for (std::size_t i = 0; i < answers; ++i) free_.push_back(std::make_unique<Answer>());
    made_.reserve(answers);
    sending_.reserve(answers);
    for (std::uint32_t i = 0; i < options.handlers; ++i) workers_.push_back(std::make_unique<Worker>());
    for (std::uint32_t i = 0; i < options.handlers; ++i)
        threads_.emplace_back(fmt::format("handler-{}", i + 1),
                              [this, i](const std::stop_token& stop) { work(*workers_[i], stop); });
}

RequestHandlers::~RequestHandlers() { stop(); }

bool RequestHandlers::give(wire::StationId from, wire::DataRequest& request) {
    {
        const std::scoped_lock lock(jobs_mutex_);
        if (job_count_ == jobs_.size()) return false;
        auto& job = jobs_[(first_job_ + job_count_) % jobs_.size()];
        job.from = from;
        std::swap(job.request, request);
        ++job_count_;
    }
    jobs_there_.notify_one();
    return true;
}

bool RequestHandlers::take_job(Job& job, const std::stop_token& stop) {
    const ScopedWait wait(WaitCause::queue);
    std::unique_lock lock(jobs_mutex_);
    if (!jobs_there_.wait(lock, stop, [&] { return job_count_ > 0; }) || stop.stop_requested()) return false;
    std::swap(job, jobs_[first_job_]);
    first_job_ = (first_job_ + 1) % jobs_.size();
    --job_count_;
    return true;
}

void RequestHandlers::work(Worker& worker, const std::stop_token& stop) {
    Job job;
    AnswerMaker maker;
    while (take_job(job, stop)) {
        handle(job, worker, maker, stop);
        worker.handled.fetch_add(1, std::memory_order_relaxed);
    }
}

void RequestHandlers::handle(const Job& job, Worker& worker, AnswerMaker& maker, const std::stop_token& stop) {
    std::optional<SteadyTime> deadline;  // one for all events of the request
    for (const auto event : job.request.events) {
        if (!store_.ready(event, job.request.robs) && store_.within_window(event)) {
            const auto now = clock_.now();
            if (!deadline) deadline = now + options_.wait_max;
            worker.waits.fetch_add(1, std::memory_order_relaxed);
            if (missing_) missing_(event, now);
            wait_for_data(event, job.request.robs, *deadline, stop);
        }
        auto answer = take_free(stop);
        if (!answer) return;
        const auto what = maker.make(store_, job.from, job.request.request, event, job.request.robs, *answer);
        worker.answers.fetch_add(1, std::memory_order_relaxed);
        if (what.not_yet > 0) worker.not_yet.fetch_add(1, std::memory_order_relaxed);
        put_made(std::move(answer));
    }
}

void RequestHandlers::wait_for_data(Level1Id event, std::span<const SourceId> robs, SteadyTime deadline,
                                    const std::stop_token& stop) {
    if (options_.strategy == WaitStrategy::park) {
        const ScopedWait wait(WaitCause::data);
        static_cast<void>(store_.wait_until_ready(event, robs, deadline));
        return;
    }
    auto seen = store_.changes(event);
    while (!stop.stop_requested()) {
        if (store_.ready(event, robs)) return;
        while (store_.changes(event) == seen) {
            if (stop.stop_requested() || clock_.now() >= deadline) return;
            if (options_.strategy == WaitStrategy::yield) {
                ::sched_yield();
            } else {
                relax();
            }
        }
        seen = store_.changes(event);
    }
}

std::unique_ptr<Answer> RequestHandlers::take_free(const std::stop_token& stop) {
    std::unique_lock lock(answers_mutex_);
    if (free_.empty()) {
        const ScopedWait wait(WaitCause::pool);
        if (!answer_free_.wait(lock, stop, [&] { return !free_.empty(); })) return nullptr;
    }
    auto answer = std::move(free_.back());
    free_.pop_back();
    return answer;
}

void RequestHandlers::put_made(std::unique_ptr<Answer> answer) {
    bool first = false;
    {
        const std::scoped_lock lock(answers_mutex_);
        first = made_.empty();
        made_.push_back(std::move(answer));
    }
    if (first) answers_made_();
}

void RequestHandlers::take_made(AnswerMemory& into) {
    const std::scoped_lock lock(answers_mutex_);
    std::swap(into, made_);
}

void RequestHandlers::release(AnswerMemory& answers) {
    {
        const std::scoped_lock lock(answers_mutex_);
        for (auto& answer : answers) free_.push_back(std::move(answer));
    }
    answers.clear();
    answer_free_.notify_all();
}

void RequestHandlers::stop() {
    if (threads_.empty()) return;
    for (auto& thread : threads_) thread.request_stop();
    store_.stop_waiting();
    threads_.clear();  // joined
    const std::scoped_lock lock(jobs_mutex_);
    discarded_ += job_count_;
    job_count_ = 0;
}

RequestHandlerStats RequestHandlers::stats() const {
    RequestHandlerStats stats;
    for (const auto& worker : workers_) {
        stats.handled += worker->handled.load(std::memory_order_relaxed);
        stats.answers += worker->answers.load(std::memory_order_relaxed);
        stats.waits += worker->waits.load(std::memory_order_relaxed);
        stats.not_yet += worker->not_yet.load(std::memory_order_relaxed);
    }
    const std::scoped_lock lock(jobs_mutex_);
    stats.discarded = discarded_;
    return stats;
}

std::size_t RequestHandlers::waiting_requests() const {
    const std::scoped_lock lock(jobs_mutex_);
    return job_count_;
}

}  // namespace weir::readout
