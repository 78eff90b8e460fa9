// SPDX-License-Identifier: Apache-2.0
#include "reports/operator_reports.hpp"

#include <utility>

namespace weir::recorder {

OperatorReports::OperatorReports(std::function<void(const RecorderReport&)> report) : report_(std::move(report)) {}

void OperatorReports::report(RecorderReport::Severity severity, std::string text) const {
    if (report_) report_({severity, std::move(text)});
}

void OperatorReports::information(std::string text) const {
    report(RecorderReport::Severity::information, std::move(text));
}

void OperatorReports::warning(std::string text) const { report(RecorderReport::Severity::warning, std::move(text)); }

void OperatorReports::error(std::string text) const { report(RecorderReport::Severity::error, std::move(text)); }

void OperatorReports::alarm(std::string name, std::string text) const {
    if (report_) report_({RecorderReport::Severity::error, std::move(text), std::move(name)});
}

void OperatorReports::interfered(const std::string& name, std::string text) {
    {
        const std::scoped_lock lock(mutex_);
        if (interference_.count++ == 0) interference_.first = name;
    }
    alarm(name, std::move(text));
}

OperatorReports::Interference OperatorReports::interference() const {
    const std::scoped_lock lock(mutex_);
    return interference_;
}

}  // namespace weir::recorder
