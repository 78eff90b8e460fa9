// SPDX-License-Identifier: Apache-2.0
// From the reports of the workers of `weir bench allocate` to its rows: medians, what memory did, and how MigratingPool
// stands to the others.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "allocate/allocate_worker.hpp"
#include "figures/rows.hpp"

namespace weir::app {

/// One point of the figure: an allocator at work in one pattern.
struct AllocatePoint {
    std::string allocator, pattern;
    unsigned threads = 1;
    auto operator<=>(const AllocatePoint&) const = default;
};

struct AllocateRuns {
    std::map<AllocatePoint, std::vector<AllocateReport>> short_runs;  // one each round, in the same order
    std::map<std::string, AllocateReport> long_runs;                  // producer/consumer, by allocator
};

/// Between the least and the most memory after the first tenth of the run (but one second at most).
struct MemorySpan {
    double low = 0, high = 0;
    [[nodiscard]] double growth() const noexcept { return high - low; }
};
[[nodiscard]] MemorySpan memory_span(const std::vector<MemoryAt>& memory);

/// a / b round by round; rounds in which one of them was not measured are omitted.
[[nodiscard]] Spread ratio_of(const std::vector<AllocateReport>& a, const std::vector<AllocateReport>& b);

[[nodiscard]] std::vector<BenchRow> allocate_rows(const AllocateRuns& runs);

/// The memory of the long runs through time, at most `points` of each.
[[nodiscard]] boost::json::array memory_series(const AllocateRuns& runs, std::size_t points);

}  // namespace weir::app
