// SPDX-License-Identifier: Apache-2.0
// What the parts of a recorder report to the operator: one path for all of them. Interference (somebody else has
// removed, renamed or replaced what belongs to the recording) is counted as well, because the end of the run says so
// too.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "weir/recorder/recorder.hpp"

namespace weir::recorder {

/// Any thread.
class OperatorReports {
public:
    /// `report` may be empty.
    explicit OperatorReports(std::function<void(const RecorderReport&)> report);

    void information(std::string text) const;
    void warning(std::string text) const;
    void error(std::string text) const;
    /// Latched under its name until somebody acknowledges it.
    void alarm(std::string name, std::string text) const;
    /// An alarm for interference.
    void interfered(const std::string& name, std::string text);

    struct Interference {
        std::uint64_t count = 0;
        std::string first;  // its alarm
    };
    [[nodiscard]] Interference interference() const;

private:
    void report(RecorderReport::Severity severity, std::string text) const;

    const std::function<void(const RecorderReport&)> report_;
    mutable std::mutex mutex_;
    Interference interference_;
};

}  // namespace weir::recorder
