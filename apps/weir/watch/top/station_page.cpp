// SPDX-License-Identifier: Apache-2.0
#include "watch/top/station_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "cli/output.hpp"
#include "cli/terminal/screen_text.hpp"

namespace weir::app {
namespace {

using enum ScreenLine::Style;

/// The metrics of a station; none: an empty list.
const std::vector<MetricPicture>& metrics_of(const Watched& watched, const std::string& station) {
    static const std::vector<MetricPicture> none;
    const auto found = watched.metrics.find(station);
    return found != watched.metrics.end() ? found->second : none;
}

std::optional<double> metric_sum(const std::vector<MetricPicture>& metrics, std::string_view metric_name) {
    std::optional<double> sum;
    for (const auto& metric : metrics)
        if (metric.name == metric_name) sum = sum.value_or(0) + metric.value;
    return sum;
}

std::optional<double> labelled(const std::vector<MetricPicture>& metrics, std::string_view metric_name,
                               std::string_view label, const std::string& value) {
    for (const auto& metric : metrics)
        if (metric.name == metric_name && label_of(metric, label) == value) return metric.value;
    return std::nullopt;
}

std::string until_text(double seconds) {
    return human(std::chrono::seconds{static_cast<std::int64_t>(std::clamp(seconds, 0.0, 1e9))});
}

std::string silence_text(const StationPicture& station) {
    return "does not answer for " + until_text(station.silent_seconds);
}

void add_text(std::vector<ScreenLine>& lines, std::size_t columns, std::string_view text,
              ScreenLine::Style style = plain) {
    lines.push_back({screen_text(text, columns), style});
}

/// Names and values, as many columns as fit.
void add_counters(std::vector<ScreenLine>& lines, const StationPicture& station, std::size_t columns) {
    constexpr std::size_t cell = 39;
    const auto across = std::max<std::size_t>(columns / cell, 1);
    std::string row;
    std::size_t in_row = 0;
    for (const auto& [counter, value] : station.counters) {
        row += screen_cell(counter, 25) + " " + screen_cell(short_number(value), 11, true) + "  ";
        if (++in_row < across) continue;
        add_text(lines, columns, row);
        row.clear();
        in_row = 0;
    }
    if (!row.empty()) add_text(lines, columns, row);
}

/// Streams and disks of a recorder, destinations of a hand-off.
void add_metrics(std::vector<ScreenLine>& lines, const std::vector<MetricPicture>& metrics, std::size_t columns) {
    for (const auto& metric : metrics) {
        if (metric.name != "weir_copies_stored_total") continue;
        const auto stream = label_of(metric, "stream");
        const auto bytes = labelled(metrics, "weir_stored_bytes_total", "stream", stream);
        const auto open = labelled(metrics, "weir_stream_files_open", "stream", stream);
        const auto hand = labelled(metrics, "weir_copies_in_hand", "stream", stream);
        add_text(lines, columns,
                 "stream    " + screen_cell(stream, 20) +
                     fmt::format(" {:>9} events {:>9}  {} open, {} in hand", short_number(metric.value),
                                 short_bytes(bytes.value_or(0)), short_number(open.value_or(0)),
                                 short_number(hand.value_or(0))));
    }
    for (const auto& metric : metrics) {
        if (metric.name != "weir_volume_free_bytes" || metric.labels.empty()) continue;
        const auto is_set = [&](const char* gauge) {
            return std::ranges::any_of(metrics, [&](const MetricPicture& other) {
                return other.name == gauge && other.labels == metric.labels && other.value > 0;
            });
        };
        const bool failed = is_set("weir_volume_failed");
        const bool full = is_set("weir_volume_full");
        add_text(lines, columns,
                 fmt::format("disk      {}  {} free{}", label_of(metric, "volume"), short_bytes(metric.value),
                             failed ? "  FAILED"
                             : full ? "  FULL"
                                    : ""),
                 failed || full ? trouble : plain);
    }
    for (const auto& metric : metrics) {
        if (metric.name != "weir_handoff_destination_up") continue;
        const auto destination = label_of(metric, "destination");
        const auto of = [&](const char* gauge) {
            return labelled(metrics, gauge, "destination", destination).value_or(0);
        };
        add_text(lines, columns,
                 fmt::format("to        {}  {}  {} handed over, {} wait, {} failed attempts", destination,
                             metric.value > 0 ? "up" : "DOWN", short_number(of("weir_handoff_files_total")),
                             short_number(of("weir_handoff_waiting_files")),
                             short_number(of("weir_handoff_failures_total"))),
                 metric.value > 0 ? plain : trouble);
    }
}

/// What a monitor has filled, a line each.
void add_histograms(std::vector<ScreenLine>& lines, const std::vector<HistogramPicture>& histograms,
                    std::size_t columns) {
    for (const auto& h : histograms) {
        auto text = fmt::format("{} {} {:>11}", h.counter ? "counter  " : "histogram", screen_cell(h.name, 22),
                                short_number(h.entries));
        if (!h.counter) text += fmt::format("  mean {}, rms {}", short_number(h.mean_x), short_number(h.rms_x));
        if (h.two_axes) text += fmt::format("; {}, {}", short_number(h.mean_y), short_number(h.rms_y));
        add_text(lines, columns, text);
    }
}

}  // namespace

std::string short_bytes(double bytes) { return human(Bytes{static_cast<std::uint64_t>(std::clamp(bytes, 0.0, 9e18))}); }

std::string short_number(double number) {
    if (!std::isfinite(number)) return "-";
    const auto size = std::abs(number);
    if (size >= 999.95e9) return fmt::format("{:.2e}", number);
    if (size >= 999.95e6) return fmt::format("{:.2f}G", number / 1e9);
    if (size >= 999'999.5) return fmt::format("{:.2f}M", number / 1e6);
    if (number >= 0 && std::floor(number) == number) return with_commas(static_cast<std::uint64_t>(number));
    if (size >= 100)
        return number < 0 ? fmt::format("{:.0f}", number) : with_commas(static_cast<std::uint64_t>(number + 0.5));
    return fmt::format("{:.2f}", number);
}

std::string station_detail(const StationPicture& station, const Watched& watched) {
    const auto count = [&](const char* counter) { return short_number(station.counter(counter)); };
    if (!station.error.empty()) return station.error;
    if (station.does_not_answer()) return silence_text(station);
    if (station.kind == "supervise") {
        auto text = fmt::format("decides in {:.2f} ms", 1e3 * station.counter("decision_seconds"));
        const auto running = station.counter("running_seconds");
        if (station.counters.contains("dead_seconds") && running > 0)
            text += fmt::format(", dead {:.1f} %", 100 * station.counter("dead_seconds") / running);
        return text;
    }
    if (station.kind == "assign") return fmt::format("{} at builders, {} wait", count("assigned"), count("waiting"));
    if (station.kind == "build")
        return fmt::format("credit {}, {} incomplete", short_bytes(station.counter("window_bytes")),
                           count("incomplete"));
    if (station.kind == "filter")
        return fmt::format("{} queued, {} at recorders", count("queued"), count("at_recorders"));
    if (station.kind == "record") {
        auto text = short_bytes(station.counter("bytes_stored"));
        if (station.counter("paused") > 0) return "PAUSED: disks full; " + text;
        if (const auto free = metric_sum(metrics_of(watched, station.name), "weir_volume_free_bytes"))
            text += fmt::format(", {} free", short_bytes(*free));
        return text + fmt::format(", {} closed",
                                  counted(static_cast<std::uint64_t>(std::max(station.counter("files"), 0.0)), "file"));
    }
    if (station.kind == "handoff")
        return fmt::format("{} files, {} failures, {} down", short_number(static_cast<double>(station.stored)),
                           count("failures"), count("destinations_down"));
    if (station.kind == "monitor") {
        const auto found = watched.histograms.find(station.name);
        return fmt::format("{} seen, {} histograms", short_number(static_cast<double>(station.stored)),
                           found == watched.histograms.end()
                               ? 0
                               : std::ranges::count(found->second, false, &HistogramPicture::counter));
    }
    const auto rejected = station.rejected_in_all();
    return rejected > 0 ? with_commas(rejected) + " rejected" : "";
}

std::string disk_text(const Watched& watched) {
    std::optional<double> free, until;
    bool full = false;
    for (const auto& [station, metrics] : watched.metrics) {
        if (const auto one = metric_sum(metrics, "weir_volume_free_bytes")) free = free.value_or(0) + *one;
        for (const auto& metric : metrics) {
            if (metric.name == "weir_until_full_seconds") until = std::min(until.value_or(metric.value), metric.value);
            full = full || (metric.name == "weir_recording_paused" && metric.value > 0);
        }
    }
    if (!free) return {};
    auto text = full ? std::string("FULL, senders wait: ") : std::string();
    text += short_bytes(*free) + " free";
    if (until && std::isfinite(*until)) text += ", full in " + until_text(*until);
    return text;
}

std::string hand_off_text(const Watched& watched) {
    std::optional<double> waiting, oldest;
    for (const auto& [station, metrics] : watched.metrics) {
        if (const auto one = metric_sum(metrics, "weir_handoff_waiting_files")) waiting = waiting.value_or(0) + *one;
        for (const auto& metric : metrics)
            if (metric.name == "weir_handoff_oldest_seconds")
                oldest = std::max(oldest.value_or(metric.value), metric.value);
    }
    if (!waiting) return {};
    auto text = counted(static_cast<std::uint64_t>(std::max(*waiting, 0.0)), "file waits", "files wait");
    if (*waiting > 0 && oldest) text += ", the oldest for " + until_text(*oldest);
    return text;
}

std::vector<ScreenLine> station_page(const StationPicture& station, const Watched& watched, std::size_t columns) {
    std::vector<ScreenLine> lines;
    add_text(lines, columns,
             fmt::format("station   {}, {}, {}{}", station.name, station.kind, station.state,
                         station.restarts > 0 ? fmt::format(", restarted {} times", station.restarts) : ""),
             bold);
    if (!station.host.empty()) add_text(lines, columns, "machine   " + station.host);
    if (!station.control.empty()) add_text(lines, columns, "control   " + station.control);
    if (station.does_not_answer()) add_text(lines, columns, "silent    " + silence_text(station), trouble);
    if (!station.error.empty()) {
        auto first = true;
        for (auto& text : screen_lines(station.error, columns - std::min<std::size_t>(columns, 10), 4))
            lines.push_back({(std::exchange(first, false) ? "error     " : "          ") + std::move(text), trouble});
    }
    add_text(lines, columns,
             fmt::format("ledger    {} {} received = {} stored + {} rejected + {} in hand",
                         with_commas(station.received), station.what, with_commas(station.stored),
                         with_commas(station.rejected_in_all()), with_commas(station.in_hand)));
    for (const auto& [reason, count] : station.rejected)
        if (count > 0) add_text(lines, columns, fmt::format("rejected  {:>11} {}", with_commas(count), reason));
    if (!station.does_not_answer())
        add_text(lines, columns, fmt::format("rate      {} a second", short_number(station.rate)));
    for (const auto& alarm : watched.alarms)
        if (alarm.station == station.name && alarm.latched)
            add_text(lines, columns, fmt::format("ALARM     {}: {}", alarm.name, alarm.text), trouble);
    add_metrics(lines, metrics_of(watched, station.name), columns);
    if (const auto found = watched.histograms.find(station.name); found != watched.histograms.end())
        add_histograms(lines, found->second, columns);
    add_text(lines, columns, "");
    add_counters(lines, station, columns);
    return lines;
}

}  // namespace weir::app
