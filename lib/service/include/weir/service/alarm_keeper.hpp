// SPDX-License-Identifier: Apache-2.0
// Keeps the alarms of a running station on disk, and lets people list and acknowledge them through a socket in
// the same directory. A socket in the file system and not a port: who may acknowledge is decided by the rights of
// the directory, and nothing can be reached from another machine.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/result.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/service/alarm_file.hpp"
#include "weir/service/reports.hpp"

namespace weir::service {

class AlarmKeeper {
public:
    /// Latches again what the file holds, then saves every change at once, on a thread of its own. The caller owns the
    /// directory (no second station uses the place), and `reports` and `clock` outlive the keeper. A file that cannot
    /// be read is put aside as `.damaged`, which is an alarm of its own: recording goes on.
    [[nodiscard]] static Result<AlarmKeeper> start(Reports& reports, const AlarmPlace& place,
                                                   const Clock& clock = system_clock());

    AlarmKeeper(AlarmKeeper&&) noexcept;
    AlarmKeeper& operator=(AlarmKeeper&&) noexcept;
    ~AlarmKeeper();  // after a last save

private:
    class Thread;
    explicit AlarmKeeper(std::unique_ptr<Thread> thread);
    std::unique_ptr<Thread> thread_;
};

/// The alarms of the station that runs there; nothing: none runs.
[[nodiscard]] Result<std::optional<std::vector<Alarm>>> ask_alarms(const AlarmPlace& place,
                                                                   const Clock& clock = system_clock());
/// Whether the running station had that alarm latched; nothing: none runs.
[[nodiscard]] Result<std::optional<bool>> ask_to_acknowledge(const AlarmPlace& place, const std::string& alarm,
                                                             const std::string& person,
                                                             const Clock& clock = system_clock());

}  // namespace weir::service
