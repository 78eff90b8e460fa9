// SPDX-License-Identifier: Apache-2.0
// The notifiers of a partition. They can never hold back a run: run control is looked at twice a second, each notifier
// has a thread and a bounded queue of its own, each try a time limit, and what is not sent is counted.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weir/control/notifier.hpp"
#include "weir/control/run_control.hpp"
#include "weir/service/metrics.hpp"
#include "weir/service/reports.hpp"
#include "weir/service/timers.hpp"

namespace weir::control {

class NotifierThread;
class NotifyWatch;

struct NotificationParts {  // all of them outlive it
    const RunControl& control;
    service::Reports& reports;
    service::Timers& timers;
    service::Metrics& metrics;
    const Clock& clock;
};

class Notifications {
public:
    Notifications(std::string partition, std::vector<NotifierOptions> notifiers, const NotificationParts& parts);
    ~Notifications();  // what was not sent is dropped
    Notifications(const Notifications&) = delete;
    Notifications& operator=(const Notifications&) = delete;

    /// When run control has ended: looks a last time, and waits until all is sent; not longer than `at_most`, and not
    /// when `interrupted`, which is asked now and then, is true. What was not sent is reported.
    void finish(std::chrono::milliseconds at_most, const std::function<bool()>& interrupted);

private:
    void look();

    const NotificationParts parts_;
    std::unique_ptr<NotifyWatch> watch_;  // of the timers' thread, and of finish() after that
    std::vector<std::unique_ptr<NotifierThread>> notifiers_;
    service::Metrics::Collection collection_;
    service::Timers::Periodic looks_;  // the last member: it ends before what it uses is gone
};

}  // namespace weir::control
