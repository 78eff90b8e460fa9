// SPDX-License-Identifier: Apache-2.0
// What the parts of a recorder report to the operator: one path for all of them. Interference (others have
// removed, renamed or replaced what belongs to the recording) is counted as well, because it decides how the run ends
// too.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "weir/base/report.hpp"

namespace weir::recorder {

/// Any thread.
class OperatorReports final : public Reporter {
public:
    explicit OperatorReports(Reporter report) : Reporter(std::move(report)) {}
    OperatorReports(const OperatorReports&) = delete;  // the count is one
    OperatorReports& operator=(const OperatorReports&) = delete;
    ~OperatorReports() = default;

    /// For parts without interference.
    [[nodiscard]] const Reporter& reporter() const noexcept { return *this; }

    /// An alarm for interference.
    void interfered(const std::string& name, std::string why);

    struct Interference {
        std::uint64_t count = 0;
        std::string first;  // its alarm
    };
    [[nodiscard]] Interference interference() const;

private:
    mutable std::mutex mutex_;
    Interference interference_;
};

}  // namespace weir::recorder
