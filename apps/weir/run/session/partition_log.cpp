// SPDX-License-Identifier: Apache-2.0
#include "run/session/partition_log.hpp"

#include <utility>

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr auto log_reads = 200ms;
constexpr std::size_t log_lines_at_once = 1000;

}  // namespace

PartitionLog::PartitionLog(const control::LogBook& log, const control::RunControl& control, service::LogOutput& output,
                           service::Timers& timers)
    : log_(log), control_(control), output_(output) {
    if (output_.structured()) reads_ = timers.every(log_reads, [this] { write_new(); });
}

void PartitionLog::finish() {
    reads_.cancel();
    if (output_.structured()) write_new();
}

void PartitionLog::write_new() {
    if (log_.last() == last_) return;
    const auto run = control_.view().run;
    for (auto lines = log_.after(last_, log_lines_at_once); !lines.empty();
         lines = log_.after(last_, log_lines_at_once)) {
        for (const auto& line : lines) {
            auto entry = service::parse_log_line(line.text, line.when);
            entry.station = line.station;
            entry.run = run;
            output_.write(std::move(entry));
            last_ = line.number;
        }
    }
}

}  // namespace weir::app
