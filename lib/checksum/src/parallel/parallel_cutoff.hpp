// SPDX-License-Identifier: Apache-2.0
// Finds the size from which splitting an event wins. The events are freshly written by the calling
// thread, as in data acquisition: then moving their cache lines to another core costs too, and a cutoff
// measured on data that lies everywhere would be far too low.
#pragma once

#include <cstddef>

#include "parallel/handover.hpp"

namespace weir::checksum {

/// Measures for a few milliseconds. ParallelOptions::never when splitting wins nowhere.
[[nodiscard]] std::size_t measure_cutoff(Handover& handover, SumFunction* kernel);

/// Seconds alone and split at one size.
struct CutoffSample {
    std::size_t size;
    double alone, split;
};

/// The decision, apart from the clock: the smallest size from which on splitting always won by a tenth; when
/// it did not yet win at the largest, where the lines through the last samples cross; else never.
[[nodiscard]] std::size_t cutoff_from(std::span<const CutoffSample> samples) noexcept;

}  // namespace weir::checksum
