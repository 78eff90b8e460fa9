// SPDX-License-Identifier: Apache-2.0
// Many files at once, their outcomes in the order in which they were asked for. Files are taken from the
// source as far ahead as the window goes, so memory does not grow with their number.
#pragma once

#include <functional>
#include <optional>

#include "weir/base/clock.hpp"
#include "weir/fixity/file_sum.hpp"
#include "weir/fixity/reading.hpp"

namespace weir::fixity {

struct Parallel {
    unsigned threads = 0;       // 0: as each device wants it
    Bytes split_min = 32_MiB;   // a file from here on is read by several threads when its sums can be put together
    Bytes split_range = 8_MiB;  // how much one of them takes at a time; blake3 wants 2^k KiB
    std::size_t window = 1024;  // files that were taken from the source and not yet given to the sink
};

using JobSource = std::function<std::optional<Job>()>;
using FileSink = std::function<void(FileSum)>;

/// Sums every file of `source` and gives the outcomes to `sink`, both called by this thread only. When
/// `how.stop` is requested, files in work end as Status::stopped, and the source is asked no more. `idle` is
/// called every 100 ms or so while this thread waits. Where the system has no threads (Reading::thread_refused) this
/// thread sums the files itself. Throws std::bad_alloc when there is no memory for the work itself; a file for whose
/// bytes there is none ends as Status::error with ENOMEM.
void sum_many(const JobSource& source, const FileSink& sink, const Reading& how, const Parallel& parallel,
              const Clock& clock, const std::function<void()>& idle = {});

}  // namespace weir::fixity
