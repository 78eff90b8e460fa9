// SPDX-License-Identifier: Apache-2.0
#include "weir/control/notifications.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "notify/notifier_thread.hpp"
#include "notify/notify_watch.hpp"
#include "weir/base/stoppable_sleep.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;

constexpr auto notify_look = 500ms;
constexpr auto finish_look = 10ms;

/// Whether who set it up wants it.
bool wants(const NotifierThread& notifier, const NotifyMessage& message) {
    const auto& on = notifier.options().on;
    const auto listed = [&](NotifyEvent event) { return std::ranges::find(on, event) != on.end(); };
    const bool of_alarm = !message.alarm.empty();
    if (of_alarm && (message.severity < notifier.options().severity ||
                     (message.station == "run" && message.alarm == notifier.alarm())))
        return false;  // that it fails, it cannot say itself
    if (message.event == NotifyEvent::bad_run) return listed(NotifyEvent::bad_run) || listed(NotifyEvent::stop);
    return listed(message.event);
}

}  // namespace

Notifications::Notifications(std::string partition, std::vector<NotifierOptions> notifiers,
                             const NotificationParts& parts)
    : parts_(parts), watch_(std::make_unique<NotifyWatch>(parts.clock.wall())) {
    for (auto& options : notifiers)
        notifiers_.push_back(
            std::make_unique<NotifierThread>(std::move(options), partition, parts.reports, parts.clock));
    if (notifiers_.empty()) return;
    collection_ = parts.metrics.collect([this](service::MetricSink& sink) {
        for (const auto& notifier : notifiers_) {
            const auto counts = notifier->counts();
            const auto& name = notifier->options().name;
            const auto add = [&](const char* outcome, std::uint64_t count) {
                sink.counter("weir_notifications_total", "messages of a notifier by what became of them",
                             {{"notifier", name}, {"outcome", outcome}}, static_cast<double>(count));
            };
            add("sent", counts.sent);
            add("failed", counts.failed);
            add("dropped", counts.dropped);
            add("summed up", counts.summed_up);
            sink.gauge("weir_notifications_waiting", "messages that wait for a notifier", {{"notifier", name}},
                       static_cast<double>(counts.waiting));
        }
    });
    looks_ = parts.timers.every(notify_look, [this] { look(); });
}

Notifications::~Notifications() = default;

void Notifications::look() {
    const auto news = watch_->look(parts_.control.view(), parts_.reports.alarms(), parts_.clock.wall());
    for (const auto& message : news)
        for (const auto& notifier : notifiers_)
            if (wants(*notifier, message)) notifier->add(message);
}

void Notifications::finish(std::chrono::milliseconds at_most, const std::function<bool()>& interrupted) {
    if (notifiers_.empty()) return;
    looks_.cancel();
    look();
    const auto until = parts_.clock.now() + at_most;
    std::map<const NotifierThread*, std::uint64_t> failed_before;
    for (const auto& notifier : notifiers_) {
        failed_before[notifier.get()] = notifier->counts().failed;
        notifier->end(until);
    }
    const auto all_sent = [&] {
        return std::ranges::all_of(notifiers_, [](const auto& notifier) { return notifier->counts().waiting == 0; });
    };
    while (!all_sent() && parts_.clock.now() < until && !interrupted())
        static_cast<void>(stoppable_sleep(finish_look, {}));
    for (const auto& notifier : notifiers_) {
        const auto counts = notifier->counts();
        const auto unsent = counts.waiting + counts.failed - failed_before[notifier.get()];
        if (unsent == 0) continue;
        parts_.reports.submit({.severity = Severity::warning,
                               .what = fmt::format("notifier {} has not sent all", notifier->options().name),
                               .why = fmt::format("{} messages were not sent at the end of run control", unsent),
                               .key = "notifier has not sent all: " + notifier->options().name});
    }
}

}  // namespace weir::control
