// SPDX-License-Identifier: Apache-2.0
// One run of `weir bench allocate`: one allocator, one pattern, in a process of its own, so that no other memory or
// threads are in its way. The program starts itself again, and reads what the worker prints.
#pragma once

#include <boost/json.hpp>
#include <string>

#include "allocate/allocate_candidates.hpp"
#include "allocate/run/allocate_batches.hpp"
#include "figures/machine.hpp"
#include "weir/base/result.hpp"

namespace weir::app {

inline constexpr const char* pattern_private = "private";
inline constexpr const char* pattern_passed = "producer-consumer";

/// The worker's report of its run.
struct AllocateReport {
    Spread rate;                // operations/s over the batches that count; runs: how many those were
    std::uint64_t batches = 0;  // of all
    std::vector<MemoryAt> memory;
    bool memory_max_reached = false;
    std::uint64_t corrections = 0;
    double line_trip = 0;  // s

    /// One batch in twenty counts at least; with less, its rate is that of a busy machine.
    [[nodiscard]] bool has_rate() const noexcept { return rate.runs > 0 && rate.runs * 20 >= batches; }
};

[[nodiscard]] boost::json::object to_json(const AllocateReport& report);
[[nodiscard]] Result<AllocateReport> read_allocate_report(std::string_view text);

/// Starts a worker and waits for it. `file` is loaded before it; empty: nothing is.
[[nodiscard]] Result<AllocateReport> measure_allocate(const std::string& allocator, const std::string& file,
                                                      const std::string& pattern, const AllocateWork& work);

/// The worker: prints its report and gives the exit code.
[[nodiscard]] int run_allocate_worker(const std::string& allocator, const std::string& pattern,
                                      const AllocateWork& work);

}  // namespace weir::app
