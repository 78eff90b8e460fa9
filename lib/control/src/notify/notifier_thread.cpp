// SPDX-License-Identifier: Apache-2.0
#include "notify/notifier_thread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "notify/notify_delivery.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds retry_after_max{60'000};
constexpr std::uint32_t retry_doublings_max = 10;

}  // namespace

NotifierThread::NotifierThread(NotifierOptions options, std::string partition, service::Reports& reports,
                               const Clock& clock)
    : options_(std::move(options)),
      partition_(std::move(partition)),
      alarm_(fmt::format("notifier {} fails", options_.name)),
      reports_(reports),
      clock_(clock),
      queue_(options_.per_minute),
      thread_("notify", [this](const std::stop_token& stop) { run(stop); }) {}

NotifierThread::~NotifierThread() = default;

void NotifierThread::add(NotifyMessage message) {
    const std::scoped_lock lock(mutex_);
    queue_.add(std::move(message));
    added_ = true;
    changed_.notify_all();
}

void NotifierThread::end(SteadyTime until) {
    const std::scoped_lock lock(mutex_);
    end_ = until;
    changed_.notify_all();
}

NotifierCounts NotifierThread::counts() const {
    const std::scoped_lock lock(mutex_);
    return {sent_, failed_, queue_.dropped(), queue_.summed_up(), queue_.size() + (busy_ ? 1U : 0U)};
}

void NotifierThread::run(const std::stop_token& stop) {
    while (const auto message = next(stop)) send(*message, stop);
}

std::optional<NotifyMessage> NotifierThread::next(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    busy_ = false;
    while (!stop.stop_requested()) {
        const auto now = clock_.now();
        if (end_ && (queue_.size() == 0 || now >= *end_)) return std::nullopt;
        if (auto message = queue_.take(now, end_.has_value())) {
            busy_ = true;
            return message;
        }
        const auto due = queue_.next(now);
        added_ = false;
        const auto wait = due ? std::max<SteadyTime::duration>(*due - now, 1ms) : SteadyTime::duration(1h);
        changed_.wait_for(lock, stop, wait, [&] { return added_ || end_; });
    }
    return std::nullopt;
}

std::chrono::milliseconds NotifierThread::time_left() const {
    const std::scoped_lock lock(mutex_);
    if (!end_) return options_.time_limit;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*end_ - clock_.now());
    return std::clamp(left, 1ms, options_.time_limit);
}

bool NotifierThread::ending() const {
    const std::scoped_lock lock(mutex_);
    return end_.has_value();
}

void NotifierThread::pause(std::chrono::milliseconds time, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, time, [&] { return end_.has_value(); });
}

void NotifierThread::send(const NotifyMessage& message, const std::stop_token& stop) {
    // Where it fails already, a message has one try: else those that wait would become old.
    const auto tries = fails_ ? 1U : options_.tries;
    const auto given_up = [&] {
        if (stop.stop_requested()) return true;
        const std::scoped_lock lock(mutex_);
        return end_ && clock_.now() >= *end_;
    };
    for (std::uint32_t tried = 1;; ++tried) {
        const auto sent = deliver(options_, message, partition_, missed_, time_left(), given_up, clock_);
        if (sent) return works();
        if (sent.error().code == Errc::refused) return count_failed();  // whoever ends it reports what was not sent
        const auto wait = std::min(
            options_.retry_after * (std::int64_t{1} << std::min(failures_++, retry_doublings_max)), retry_after_max);
        const bool last = tried >= tries || ending();
        if (last) fails(sent.error());
        pause(wait, stop);
        if (last) return;
    }
}

void NotifierThread::works() {
    missed_ = 0;
    failures_ = 0;
    {
        const std::scoped_lock lock(mutex_);
        ++sent_;
    }
    if (!std::exchange(fails_, false)) return;
    reports_.submit({.severity = Severity::information, .what = fmt::format("notifier {} works again", options_.name)});
    static_cast<void>(reports_.acknowledge(alarm_, "run control: it works again"));
}

void NotifierThread::count_failed() {
    ++missed_;
    const std::scoped_lock lock(mutex_);
    ++failed_;
}

void NotifierThread::fails(const Error& error) {
    count_failed();
    if (std::exchange(fails_, true)) return;
    reports_.submit({.severity = Severity::error,
                     .what = fmt::format("notifier {} fails", options_.name),
                     .why = error.message(),
                     .advice = fmt::format("messages are lost until it works; try it with weir run notify, see "
                                           "[notify.{}]",
                                           options_.name),
                     .alarm = alarm_});
}

}  // namespace weir::control
