// SPDX-License-Identifier: Apache-2.0
// weir sum --range: sums of a part of each file, in a form that cannot be taken for the sums of the whole.
#pragma once

#include <string>
#include <vector>

#include "sums/sum_settings.hpp"
#include "weir/fixity/sum_range.hpp"

namespace weir::app {

/// "OFF:LEN", "OFF:" for all behind it; with units.
struct RangeOption {
    fixity::ByteRange bytes;
};
[[nodiscard]] Result<> read_value(std::string_view text, RangeOption& to);
[[nodiscard]] std::string shown_value(const RangeOption& range);

struct RangeSettings {
    fixity::ByteRange range;
    std::vector<std::string> paths;
    std::vector<digest::Algorithm> algorithms;
    bool json = false;
    ReadSettings reading;
};

/// The exit code.
[[nodiscard]] int sum_ranges(std::string_view command, const RangeSettings& settings);

}  // namespace weir::app
