// SPDX-License-Identifier: Apache-2.0
#include "weir/base/thread_account.hpp"

#include <pthread.h>
#include <time.h>

#include <algorithm>

#include "weir/base/assert.hpp"

namespace weir {
namespace detail {
constinit thread_local ThreadAccount* thread_account = nullptr;
}

namespace {

constinit thread_local ThreadAccounts* thread_accounts = nullptr;
constexpr std::size_t ended_names_max = 256;

std::int64_t ticks(SteadyTime time) noexcept { return std::chrono::nanoseconds(time.time_since_epoch()).count(); }
SteadyTime time_of(std::int64_t ticks) noexcept { return SteadyTime{std::chrono::nanoseconds{ticks}}; }

clockid_t processor_clock() noexcept {
    clockid_t clock{};
    WEIR_ASSERT(::pthread_getcpuclockid(::pthread_self(), &clock) == 0);
    return clock;
}

std::chrono::nanoseconds never_less(std::atomic<std::int64_t>& reported, std::chrono::nanoseconds now) noexcept {
    auto before = reported.load(std::memory_order_relaxed);
    while (before < now.count() && !reported.compare_exchange_weak(before, now.count(), std::memory_order_relaxed)) {
    }
    return std::chrono::nanoseconds(std::max<std::int64_t>(before, now.count()));
}

/// 0 for a thread that has ended meanwhile.
std::int64_t read_clock(clockid_t clock) noexcept {
    timespec time{};
    if (::clock_gettime(clock, &time) != 0) return 0;
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

const char* name(WaitCause cause) noexcept {
    switch (cause) {
        case WaitCause::network: return "network";
        case WaitCause::timer: return "timer";
        case WaitCause::pool: return "pool";
        case WaitCause::queue: return "queue";
        case WaitCause::lock: return "lock";
        case WaitCause::disk: return "disk";
        case WaitCause::data: return "data";
        case WaitCause::peer: return "peer";
    }
    return "unknown";
}

ThreadAccount::ThreadAccount(std::string thread_name, std::size_t spans_max)
    : thread_(std::move(thread_name)),
      began_(std::chrono::steady_clock::now()),
      processor_clock_(processor_clock()),
      ring_(spans_max) {}

void ThreadAccount::begin_wait(WaitCause cause, SteadyTime now) noexcept {
    waiting_ = true;
    cause_ = cause;
    version_.fetch_add(1, std::memory_order_acq_rel);  // odd: being written
    waiting_for_.store(static_cast<std::uint8_t>(cause), std::memory_order_release);
    waiting_since_.store(ticks(now), std::memory_order_release);
    version_.fetch_add(1, std::memory_order_release);
}

void ThreadAccount::end_wait(SteadyTime now) noexcept {
    waiting_ = false;
    const auto began = waiting_since_.load(std::memory_order_relaxed);  // only this thread writes
    const auto which = static_cast<std::size_t>(cause_);
    version_.fetch_add(1, std::memory_order_acq_rel);
    waiting_since_.store(0, std::memory_order_release);
    waited_[which].store(waited_[which].load(std::memory_order_relaxed) + ticks(now) - began,
                         std::memory_order_release);
    waits_[which].store(waits_[which].load(std::memory_order_relaxed) + 1, std::memory_order_release);
    version_.fetch_add(1, std::memory_order_release);
    if (!ring_.empty()) keep_span(name(cause_), true, time_of(began), now);
}

void ThreadAccount::keep_span(const char* what, bool wait, SteadyTime began, SteadyTime ended) noexcept {
    const auto n = span_count_.load(std::memory_order_relaxed);
    auto& slot = ring_[n % ring_.size()];
    // Empty while it changes; spans() passes over it then.
    slot.what.store(nullptr, std::memory_order_relaxed);
    slot.began.store(ticks(began), std::memory_order_release);
    slot.ended.store(ticks(ended), std::memory_order_release);
    slot.wait.store(wait, std::memory_order_release);
    slot.what.store(what, std::memory_order_release);
    span_count_.store(n + 1, std::memory_order_release);
}

std::vector<ThreadSpan> ThreadAccount::spans() const {
    std::vector<ThreadSpan> all;
    const auto last = span_count_.load(std::memory_order_acquire);
    for (auto n = last - std::min<std::uint64_t>(last, ring_.size()); n < last; ++n) {
        const auto& slot = ring_[n % ring_.size()];
        const auto* what = slot.what.load(std::memory_order_acquire);
        ThreadSpan span{what, slot.wait.load(std::memory_order_acquire),
                        time_of(slot.began.load(std::memory_order_acquire)),
                        time_of(slot.ended.load(std::memory_order_acquire))};
        if (what == nullptr) continue;
        // Overwritten meanwhile: the thread has gone round, and this slot holds a later span, or a mixture.
        if (span_count_.load(std::memory_order_acquire) + 1 > n + ring_.size() &&
            span_count_.load(std::memory_order_acquire) != last)
            continue;
        all.push_back(span);
    }
    return all;
}

void ThreadAccount::end(SteadyTime now) noexcept {
    if (waiting_) end_wait(now);
    processor_at_end_.store(read_clock(processor_clock_), std::memory_order_relaxed);
    ended_.store(ticks(now), std::memory_order_release);
}

ThreadAccount::Times ThreadAccount::times(SteadyTime now) const {
    Times times;
    times.thread = thread_;
    const auto ended = ended_.load(std::memory_order_acquire);
    times.ended = ended != 0;
    const auto until = times.ended ? time_of(ended) : now;
    times.processor = std::chrono::nanoseconds(times.ended ? processor_at_end_.load(std::memory_order_relaxed)
                                                           : read_clock(processor_clock_));
    for (int tries = 0; tries < 1000;
         ++tries) {  // a thread that does nothing but wait and wake is rare; then a glance must do
        const auto before = version_.load(std::memory_order_acquire);
        for (std::size_t i = 0; i < wait_cause_count; ++i) {
            times.waited[i] = std::chrono::nanoseconds(waited_[i].load(std::memory_order_acquire));
            times.waits[i] = waits_[i].load(std::memory_order_acquire);
        }
        const auto since = waiting_since_.load(std::memory_order_acquire);
        const auto cause = waiting_for_.load(std::memory_order_acquire);
        if (before % 2 != 0 || version_.load(std::memory_order_relaxed) != before) continue;
        if (since != 0)
            times.waited[cause] +=
                std::max(std::chrono::nanoseconds{0}, std::chrono::nanoseconds(until - time_of(since)));
        break;
    }
    auto waited = std::chrono::nanoseconds{0};
    for (const auto& one : times.waited) waited += one;
    times.running = std::max(std::chrono::nanoseconds{0}, std::chrono::nanoseconds(until - began_) - waited);
    for (std::size_t i = 0; i < wait_cause_count; ++i) times.waited[i] = never_less(reported_[i], times.waited[i]);
    times.running = never_less(reported_[wait_cause_count], times.running);
    return times;
}

ThreadAccounts* ThreadAccounts::of_this_thread() noexcept { return thread_accounts; }

ThreadAccounts::Entry::Entry(ThreadAccounts& accounts, std::string thread_name)
    : accounts_(accounts),
      account_(std::make_shared<ThreadAccount>(std::move(thread_name), accounts.spans_max_)),
      outer_accounts_(thread_accounts),
      outer_account_(detail::thread_account) {
    const std::scoped_lock lock(accounts_.mutex_);
    accounts_.running_.push_back(account_);
    thread_accounts = &accounts_;
    detail::thread_account = account_.get();
}

ThreadAccounts::Entry::~Entry() {
    detail::thread_account = outer_account_;
    thread_accounts = outer_accounts_;
    account_->end(std::chrono::steady_clock::now());
    accounts_.remove(account_);
}

void ThreadAccounts::remove(const std::shared_ptr<ThreadAccount>& account) {
    const std::scoped_lock lock(mutex_);
    std::erase(running_, account);
    const auto times = account->times({});
    auto found = ended_times_.find(times.thread);
    if (found == ended_times_.end()) {
        const bool room = ended_times_.size() < ended_names_max;
        found = ended_times_.try_emplace(room ? times.thread : "other").first;
        if (found->second.thread.empty()) {
            found->second.thread = found->first;
            found->second.threads = 0;
            found->second.ended = true;
        }
    }
    auto& sum = found->second;
    ++sum.threads;
    sum.running += times.running;
    sum.processor += times.processor;
    for (std::size_t i = 0; i < wait_cause_count; ++i) {
        sum.waited[i] += times.waited[i];
        sum.waits[i] += times.waits[i];
    }
    if (traces() && ended_.size() < ended_max) ended_.push_back(account);
}

std::vector<ThreadAccount::Times> ThreadAccounts::times() const {
    std::vector<ThreadAccount::Times> all;
    const auto now = std::chrono::steady_clock::now();
    const std::scoped_lock lock(mutex_);
    for (const auto& account : running_) all.push_back(account->times(now));
    for (const auto& [thread, times] : ended_times_) all.push_back(times);
    return all;
}

std::vector<std::shared_ptr<const ThreadAccount>> ThreadAccounts::accounts() const {
    const std::scoped_lock lock(mutex_);
    std::vector<std::shared_ptr<const ThreadAccount>> all(ended_.begin(), ended_.end());
    all.insert(all.end(), running_.begin(), running_.end());
    return all;
}

void ScopedWait::begin(WaitCause cause) noexcept {
    if (account_->waiting_) {
        account_ = nullptr;
        return;
    }
    account_->begin_wait(cause, std::chrono::steady_clock::now());
}

void ScopedWait::end() noexcept { account_->end_wait(std::chrono::steady_clock::now()); }

ScopedWork::ScopedWork(const char* what) noexcept : account_(detail::thread_account), what_(what) {
    if (account_ != nullptr && account_->ring_.empty()) account_ = nullptr;
    if (account_ != nullptr) began_ = std::chrono::steady_clock::now();
}

ScopedWork::~ScopedWork() {
    if (account_ != nullptr) account_->keep_span(what_, false, began_, std::chrono::steady_clock::now());
}

}  // namespace weir
