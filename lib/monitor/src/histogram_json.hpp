// SPDX-License-Identifier: Apache-2.0
// Histograms as JSON: what the control port answers, and the file that is saved beside the ROOT file and read again as
// a reference. docs/monitors.md lists the fields. A number that JSON cannot hold is null.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "kept_histograms.hpp"
#include "weir/json/parse.hpp"

namespace weir::monitor {

/// What a run's histograms are kept with.
struct SavedWith {
    std::string monitor{};
    RunNumber run{};
    std::uint64_t events = 0;  // that the monitor has seen
};

/// Without bins.
[[nodiscard]] json::object summary_of(const Histogram& histogram);
/// All of it.
[[nodiscard]] json::object to_json(const Histogram& histogram);
[[nodiscard]] json::array to_json(const std::vector<Counter>& counters);
/// The document of a run.
[[nodiscard]] std::string saved_document(const SavedWith& with, const KeptHistograms::Picture& picture);

struct SavedHistograms {
    RunNumber run{};
    std::map<std::string, Histogram> histograms{};
};
/// Of a document as above, from anywhere. Errc::usage: it is none, or exceeds HistogramLimits.
[[nodiscard]] Result<SavedHistograms> read_saved_histograms(std::string_view text);

}  // namespace weir::monitor
