// SPDX-License-Identifier: Apache-2.0
// A partition as it was at one moment, read from what run control or a single station answered. Whoever answers is not
// trusted: what is missing or of another kind is empty or 0, and lists end somewhere.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/json/parse.hpp"

namespace weir::app {

struct AlarmPicture {
    std::string station{}, name{}, text{}, severity{};
    bool latched = true;  // not acknowledged
    std::uint64_t raised = 1;
};

struct StationPicture {
    std::string name{}, kind{}, state{}, host{}, control{}, error{};
    std::uint64_t restarts = 0;
    double rate = 0;            // received a second
    double silent_seconds = 0;  // run control asked it for so long without an answer
    std::string what{};
    std::uint64_t received = 0, stored = 0, in_hand = 0;
    std::vector<std::pair<std::string, std::uint64_t>> rejected{};
    std::map<std::string, double, std::less<>> counters{};
    std::size_t alarms = 0;

    [[nodiscard]] double counter(std::string_view counter_name) const;
    [[nodiscard]] std::uint64_t rejected_in_all() const;
    /// Somebody should look: its process is gone, its last transition failed, it does not answer, or it has alarms.
    [[nodiscard]] bool in_trouble() const;
    [[nodiscard]] bool does_not_answer() const noexcept { return silent_seconds > 2; }
};

struct HostPicture {
    std::string name{}, state{}, trouble{};
};

struct PartitionPicture {
    bool single = false;  // one station alone, without run control
    std::string name{}, state{}, comment{}, stop_reason{}, failure{};
    std::uint64_t run = 0;
    double seconds = 0;
    std::uint64_t triggers = 0, accepted = 0, rejected = 0, built = 0, incomplete = 0, recorded = 0;
    std::size_t sources = 0, masked = 0, silent = 0, missing = 0;
    std::vector<StationPicture> stations{};
    std::vector<HostPicture> hosts{};

    [[nodiscard]] double sum_of(std::string_view kind, std::string_view counter) const;
};

/// GET /partition.
[[nodiscard]] PartitionPicture partition_picture(const json::value& document);
/// GET /status of a station.
[[nodiscard]] PartitionPicture station_picture(const json::value& document);
/// GET /alarms of either; `station`: where a station's own are.
[[nodiscard]] std::vector<AlarmPicture> alarm_pictures(const json::value& document, const std::string& station);

struct LogPicture {
    std::uint64_t number = 0;
    double time = 0;  // Unix time
    std::string station{}, text{};
};
/// GET /log.
[[nodiscard]] std::vector<LogPicture> log_pictures(const json::value& document);

/// A histogram of GET /histograms of a monitor, without its bins, or a counter.
struct HistogramPicture {
    std::string name{};
    bool counter = false;
    double entries = 0;  // of a counter: its value
    double mean_x = 0, rms_x = 0;
    bool two_axes = false;
    double mean_y = 0, rms_y = 0;
};
[[nodiscard]] std::vector<HistogramPicture> histogram_pictures(const json::value& document);

/// A series of GET /metrics.
struct MetricPicture {
    std::string name{}, labels{};  // labels as they stand there: stream="physics_Main"
    double value = 0;
};
[[nodiscard]] std::vector<MetricPicture> metric_pictures(std::string_view text);
/// Of a label: "physics_Main"; empty: it has none.
[[nodiscard]] std::string label_of(const MetricPicture& metric, std::string_view label);

}  // namespace weir::app
