// SPDX-License-Identifier: Apache-2.0
#include "allocate/allocate_rows.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace weir::app {
namespace {

namespace json = boost::json;

json::object parameters_of(const AllocatePoint& point) {
    return {{"pattern", point.pattern}, {"threads", point.threads}, {"allocator", point.allocator}};
}

bool peer(const std::string& allocator) {
    const auto* candidate = allocate_candidate(allocator);
    return candidate == nullptr || !candidate->ours;
}

Spread one_value(double value) { return {.median = value, .low = value, .high = value, .runs = 1}; }

Spread rates_of(const std::vector<AllocateReport>& reports) {
    std::vector<double> rates;
    for (const auto& report : reports)
        if (report.has_rate()) rates.push_back(report.rate.median);
    return spread_of(std::move(rates));
}

void add_point(std::vector<BenchRow>& rows, const AllocatePoint& point, const std::vector<AllocateReport>& reports) {
    const auto add = [&](const char* name, const Spread& value, const char* unit) {
        rows.push_back({.name = name,
                        .peer = peer(point.allocator),
                        .parameters = parameters_of(point),
                        .value = value,
                        .unit = unit});
    };
    if (const auto rate = rates_of(reports); rate.runs > 0) add("throughput", rate, "operations/s");
    std::vector<double> counted, corrections, trips;
    for (const auto& report : reports) {
        counted.push_back(
            report.batches == 0 ? 0 : static_cast<double>(report.rate.runs) / static_cast<double>(report.batches));
        corrections.push_back(static_cast<double>(report.corrections));
        if (report.line_trip > 0) trips.push_back(report.line_trip);
    }
    add("batches_counted", spread_of(counted), "of the batches");
    if (point.allocator.starts_with("migrating")) add("corrections", spread_of(corrections), "corrections");
    if (!trips.empty()) add("cache_line_trip", spread_of(trips), "s");
}

void add_memory(std::vector<BenchRow>& rows, const std::string& allocator, const AllocateReport& report) {
    auto parameters = parameters_of({.allocator = allocator, .pattern = pattern_passed, .threads = 2});
    parameters["seconds"] = report.memory.empty() ? 0.0 : report.memory.back().seconds;
    parameters["memory_max_reached"] = report.memory_max_reached;
    const auto add = [&](const char* name, const Spread& value, const char* unit) {
        rows.push_back({.name = name, .peer = peer(allocator), .parameters = parameters, .value = value, .unit = unit});
    };
    const auto span = memory_span(report.memory);
    add("memory_highest", one_value(span.high), "bytes");
    add("memory_growth", one_value(span.growth()), "bytes");
    if (report.has_rate()) add("throughput_while_watched", report.rate, "operations/s");
    if (allocator.starts_with("migrating"))
        add("corrections_while_watched", one_value(static_cast<double>(report.corrections)), "corrections");
}

/// How "migrating" stands at one point of the axes.
void add_ratios(std::vector<BenchRow>& rows, const AllocateRuns& runs, const std::string& pattern, unsigned threads) {
    const auto reports = [&](const std::string& allocator) {
        const auto found = runs.short_runs.find({.allocator = allocator, .pattern = pattern, .threads = threads});
        return found == runs.short_runs.end() ? nullptr : &found->second;
    };
    const auto* ours = reports("migrating");
    if (ours == nullptr) return;
    const auto add = [&](const char* name, const std::string& other) {
        const auto* theirs = reports(other);
        if (theirs == nullptr) return;
        const auto ratio = ratio_of(*ours, *theirs);
        if (ratio.runs > 0)
            rows.push_back({.name = name,
                            .peer = false,
                            .parameters = parameters_of({other, pattern, threads}),
                            .value = ratio,
                            .unit = "ratio"});
    };
    const AllocateCandidate* best = nullptr;
    double best_rate = 0;
    for (const auto& candidate : allocate_candidates()) {
        if (!candidate.general || reports(candidate.name) == nullptr) continue;
        if (const auto rate = rates_of(*reports(candidate.name)).median; rate > best_rate)
            best = &candidate, best_rate = rate;
    }
    if (best != nullptr) add("migrating_to_best_general", best->name);
    add("migrating_to_locked", "locked");
    if (pattern == pattern_passed) add("migrating_to_jemalloc", "jemalloc");
}

}  // namespace

MemorySpan memory_span(const std::vector<MemoryAt>& memory) {
    if (memory.empty()) return {};
    const auto from = std::min(memory.back().seconds / 10, 1.0);
    MemorySpan span{.low = memory.back().bytes, .high = memory.back().bytes};
    for (const auto& at : memory) {
        if (at.seconds < from) continue;
        span.low = std::min(span.low, at.bytes);
        span.high = std::max(span.high, at.bytes);
    }
    return span;
}

Spread ratio_of(const std::vector<AllocateReport>& a, const std::vector<AllocateReport>& b) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round < std::min(a.size(), b.size()); ++round)
        if (a[round].has_rate() && b[round].has_rate() && b[round].rate.median > 0)
            ratios.push_back(a[round].rate.median / b[round].rate.median);
    return spread_of(std::move(ratios));
}

std::vector<BenchRow> allocate_rows(const AllocateRuns& runs) {
    std::vector<BenchRow> rows;
    std::set<std::pair<std::string, unsigned>> axes;
    for (const auto& candidate : allocate_candidates()) {
        for (const auto& [point, reports] : runs.short_runs) {
            if (point.allocator != candidate.name) continue;
            add_point(rows, point, reports);
            axes.emplace(point.pattern, point.threads);
        }
    }
    for (const auto& candidate : allocate_candidates())
        if (const auto found = runs.long_runs.find(candidate.name); found != runs.long_runs.end())
            add_memory(rows, candidate.name, found->second);
    for (const auto& [pattern, threads] : axes) add_ratios(rows, runs, pattern, threads);
    return rows;
}

json::array memory_series(const AllocateRuns& runs, std::size_t points) {
    json::array all;
    for (const auto& [allocator, report] : runs.long_runs) {
        json::array series;
        const auto step = std::max<std::size_t>(1, (report.memory.size() + points - 1) / points);
        for (std::size_t i = 0; i < report.memory.size(); ++i)
            if (i % step == 0 || i + 1 == report.memory.size())
                series.push_back(json::array{report.memory[i].seconds, report.memory[i].bytes});
        all.push_back({{"allocator", allocator}, {"seconds_bytes", std::move(series)}});
    }
    return all;
}

}  // namespace weir::app
