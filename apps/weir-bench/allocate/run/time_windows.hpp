// SPDX-License-Identifier: Apache-2.0
// The rule of peers/windows.hpp (batches of several threads count only where their time windows overlap) for times of
// our own clock.
#pragma once

#include "peers/windows.hpp"
#include "weir/base/clock.hpp"

namespace weir::app {

struct TimeWindow {
    SteadyTime begin, end;
};

inline constexpr double overlap_that_counts = jobs::overlap_min;

using jobs::overlap_of;
using jobs::whole_of;

}  // namespace weir::app
