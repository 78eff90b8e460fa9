// SPDX-License-Identifier: Apache-2.0
// What has happened since the last look at a partition, as messages. Run control is looked at, and not hooked into:
// nothing of a notifier can be in the way of a run.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "notify/notify_message.hpp"
#include "weir/control/run_control.hpp"
#include "weir/service/reports.hpp"

namespace weir::control {

/// One thread.
class NotifyWatch {
public:
    /// A run that began before `since` was begun under another run control, and its start is no news.
    explicit NotifyWatch(WallTime since) : since_(since) {}

    [[nodiscard]] std::vector<NotifyMessage> look(const PartitionView& view, const std::vector<service::Alarm>& own,
                                                  WallTime now);

private:
    const WallTime since_;
    RunNumber started_{};                                          // the last whose start was seen
    std::uint32_t ended_ = 0;                                      // runs
    std::map<std::pair<std::string, std::string>, bool> latched_;  // by station and alarm
};

}  // namespace weir::control
