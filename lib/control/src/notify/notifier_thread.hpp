// SPDX-License-Identifier: Apache-2.0
// A notifier at work: its own thread sends what waits for it, tries again what failed, and reports when that does not
// help. Who adds a message never waits for it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <string>

#include "notify/notify_queue.hpp"
#include "weir/base/named_thread.hpp"
#include "weir/service/reports.hpp"

namespace weir::control {

/// Of messages. One that was summed up in another is not among the others.
struct NotifierCounts {
    std::uint64_t sent = 0;
    std::uint64_t failed = 0;     // all tries
    std::uint64_t dropped = 0;    // there was no room, or no time at the end
    std::uint64_t summed_up = 0;  // in others
    std::uint64_t waiting = 0;    // one that is being sent, too
};

/// Any thread.
class NotifierThread {
public:
    /// `reports` and `clock` outlive it.
    NotifierThread(NotifierOptions options, std::string partition, service::Reports& reports, const Clock& clock);
    ~NotifierThread();  // what waits is dropped
    NotifierThread(const NotifierThread&) = delete;
    NotifierThread& operator=(const NotifierThread&) = delete;

    [[nodiscard]] const NotifierOptions& options() const noexcept { return options_; }
    /// The alarm when it fails: "notifier chat fails".
    [[nodiscard]] const std::string& alarm() const noexcept { return alarm_; }

    void add(NotifyMessage message);
    /// No more messages come: what waits is summed up by event and sent at once, each with one try until then.
    void end(SteadyTime until);
    [[nodiscard]] NotifierCounts counts() const;

private:
    void run(const std::stop_token& stop);
    [[nodiscard]] std::optional<NotifyMessage> next(const std::stop_token& stop);
    void send(const NotifyMessage& message, const std::stop_token& stop);
    [[nodiscard]] bool ending() const;
    /// Until then, or until the end begins.
    void pause(std::chrono::milliseconds time, const std::stop_token& stop);
    [[nodiscard]] std::chrono::milliseconds time_left() const;  // of a try
    void works();
    void count_failed();
    void fails(const Error& error);

    const NotifierOptions options_;
    const std::string partition_, alarm_;
    service::Reports& reports_;
    const Clock& clock_;
    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    NotifyQueue queue_;
    bool added_ = false, busy_ = false;
    std::optional<SteadyTime> end_;
    std::uint64_t sent_ = 0, failed_ = 0;
    // Of its thread alone:
    std::uint64_t missed_ = 0;    // since the last that was sent
    std::uint32_t failures_ = 0;  // tries in a row
    bool fails_ = false;
    NamedThread thread_;  // the last member: it ends before what it uses is gone
};

}  // namespace weir::control
