// SPDX-License-Identifier: Apache-2.0
// What `weir bench record` measured, as people and programs read it: figure 1 of the paper (what lies above
// the cutoff), the table with its ratios, the JSON document, and the script that draws figure 5 and the bars.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "figures/machine.hpp"
#include "record/record.hpp"
#include "record/tmpfs_medium.hpp"

namespace weir::app {

inline constexpr std::uint64_t small_event = 32'000;  // the paper's cutoff

/// One bar of the figure: a limit or a way to record.
struct RecordSeries {
    std::string name;  // "sink", "write", "copy", "off", "receipt", "unsynced", "original", "parallel"
    std::string description;
    unsigned threads = 0;   // checksum threads of `parallel`
    bool siblings = false;  // they share cores with others (SMT)
    bool ours = true;
};

struct RecordMedium {
    std::string name;
    std::filesystem::path directory;
    bool direct = false;
    std::shared_ptr<TmpfsMedium> tmpfs{};  // shared by the copies of this description in the rows
};

struct RecordRow {
    RecordSeries series;
    RecordMedium medium;
    Spread gb_per_s, cpu_per_gb, cores;
};

struct WorkloadFigures {
    struct Stream {
        std::uint64_t events = 0, bytes = 0, events_above = 0, bytes_above = 0;
    };
    std::map<std::string, Stream> streams;
    Stream all;
    double bytes_per_event = 0;
};

/// Figure 1 of the paper: bytes a stream, and what lies above the cutoff.
[[nodiscard]] WorkloadFigures workload_figures(std::uint64_t seed);
void print_workload(const WorkloadFigures& figures);
void print_rows(std::span<const RecordRow> rows, std::span<const RecordMedium> media);
[[nodiscard]] std::string to_json(const Machine& machine, std::span<const RecordRow> rows,
                                  const WorkloadFigures& figures, const RecordBenchOptions& options);
/// For gnuplot. Figure 5 (throughput against checksum threads, `original` = 1) above, the bars of every series below.
[[nodiscard]] std::string figure(std::span<const RecordRow> rows, std::span<const RecordMedium> media,
                                 const Machine& machine);

}  // namespace weir::app
