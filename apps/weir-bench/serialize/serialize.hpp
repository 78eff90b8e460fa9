// SPDX-License-Identifier: Apache-2.0
// `weir bench serialize`: Jones' talk on a shared flag in ROOT's streaming drawn again: vectors of 10 and 1000 `Thing`
// and an event, written and read by 1 to n threads with a buffer each; weir's ways, limits and peers in one run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weir::app {

struct SerializeBenchOptions {
    std::vector<std::uint32_t> threads;   // empty: 1, 2, 4 ... and one a core
    std::size_t repetitions = 15;         // visits of each point, interleaved
    std::size_t batches = 20;             // of one visit
    std::size_t visits_more = 20;         // at most, of a point of which next to no batch overlapped
    bool copies = true;                   // spare processors are kept busy
    std::vector<std::string> candidates;  // only those with one of these in their name; empty: all
    std::string root_python = "python3";  // with ROOT or without
    std::string peers;                    // where their programs lie; empty: beside this one
    bool quick = false;                   // little of everything but ROOT, in a few seconds
    std::string plot;                     // an SVG or PNG file; empty: none
    bool json = false;
};

/// The exit code.
[[nodiscard]] int run_bench_serialize(const SerializeBenchOptions& options);

}  // namespace weir::app
