// SPDX-License-Identifier: Apache-2.0
// In what two runs differed: setting by setting, as their partition files have them, and in the options beside these.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <vector>

#include "weir/base/result.hpp"
#include "weir/catalogue/run_record.hpp"

namespace weir::app {

struct RecordDifference {
    std::string section{};                 // "supervise.l2sv"; empty: no setting of the file
    std::string what{};                    // the key; "weir", "events"; empty: the section
    boost::json::value first{}, second{};  // null: not there

    /// "[supervise.l2sv] rate"
    [[nodiscard]] std::string name() const;
};

/// Errc::usage: a partition file that is no TOML.
[[nodiscard]] Result<std::vector<RecordDifference>> differences_of(const catalogue::RunRecord& first,
                                                                   const catalogue::RunRecord& second);

}  // namespace weir::app
