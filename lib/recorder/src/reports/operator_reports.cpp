// SPDX-License-Identifier: Apache-2.0
#include "reports/operator_reports.hpp"

#include <utility>

namespace weir::recorder {

void OperatorReports::interfered(const std::string& name, std::string why) {
    {
        const std::scoped_lock lock(mutex_);
        if (interference_.count++ == 0) interference_.first = name;
    }
    alarm(name, std::move(why));
}

OperatorReports::Interference OperatorReports::interference() const {
    const std::scoped_lock lock(mutex_);
    return interference_;
}

}  // namespace weir::recorder
