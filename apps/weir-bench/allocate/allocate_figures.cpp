// SPDX-License-Identifier: Apache-2.0
#include "allocate/allocate_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "cli/output.hpp"
#include "figures/plot.hpp"

namespace weir::app {
namespace {

std::string text(const BenchRow& row, const char* parameter) {
    return std::string(row.parameters.at(parameter).as_string());
}
unsigned threads_of(const BenchRow& row) { return row.parameters.at("threads").to_number<unsigned>(); }

const BenchRow* find(const std::vector<BenchRow>& rows, std::string_view name, const AllocatePoint& point) {
    const auto found = std::ranges::find_if(rows, [&](const BenchRow& row) {
        return row.name == name && text(row, "allocator") == point.allocator && text(row, "pattern") == point.pattern &&
               threads_of(row) == point.threads;
    });
    return found == rows.end() ? nullptr : &*found;
}

/// What was measured in short runs, each once: "private" first, by threads.
std::vector<std::pair<std::string, unsigned>> axes(const std::vector<BenchRow>& rows) {
    std::vector<std::pair<std::string, unsigned>> all;
    for (const auto& row : rows)
        if (row.name == "batches_counted") all.emplace_back(text(row, "pattern"), threads_of(row));
    std::ranges::sort(all, [](const auto& a, const auto& b) {
        return std::pair(a.first != pattern_private, a.second) < std::pair(b.first != pattern_private, b.second);
    });
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

std::string axis_text(const std::string& pattern, unsigned threads) {
    if (pattern == pattern_passed) return "producer/consumer";
    return fmt::format("private, {}", counted(threads, "thread"));
}

std::string millions(const Spread& value) {
    const auto digits = value.median < 10e6 ? 2 : value.median < 100e6 ? 1 : 0;
    return fmt::format("{:.{}f} ({:.{}f}-{:.{}f})", value.median / 1e6, digits, value.low / 1e6, digits,
                       value.high / 1e6, digits);
}

void print_throughput(const std::vector<BenchRow>& rows) {
    std::vector<Table::Column> columns{{.title = "allocator"}};
    for (const auto& [pattern, threads] : axes(rows))
        columns.push_back({.title = axis_text(pattern, threads), .align = Table::Align::right});
    Table table(columns);
    double counted_least = 1;
    for (const auto& candidate : allocate_candidates()) {
        std::vector<std::string> cells{candidate.name};
        bool measured = false;
        for (const auto& [pattern, threads] : axes(rows)) {
            const AllocatePoint point{candidate.name, pattern, threads};
            const auto* rate = find(rows, "throughput", point);
            const auto* part = find(rows, "batches_counted", point);
            if (part != nullptr) counted_least = std::min(counted_least, part->value.median), measured = true;
            cells.push_back(rate != nullptr ? millions(rate->value) : part != nullptr ? "machine busy" : "");
        }
        if (measured) table.add(std::move(cells));
    }
    if (table.empty()) return;
    print("\nmillion insertions and erasures/s, median of the runs (lowest-highest)\n{}", table.text());
    if (counted_least < 0.5)
        print(
            "Other programs took the processors: of some points only {:.0f} % of the batches count. Measure on a quiet "
            "machine.\n",
            counted_least * 100);
}

/// How far the cores were apart that handed events over: it explains what otherwise looks like noise.
void print_trips(const std::vector<BenchRow>& rows) {
    std::vector<double> trips, low, high;
    for (const auto& row : rows) {
        if (row.name != "cache_line_trip") continue;
        trips.push_back(row.value.median * 1e9);
        low.push_back(row.value.low * 1e9);
        high.push_back(row.value.high * 1e9);
    }
    if (!trips.empty())
        print("a cache line between producer and consumer and back: {:.0f} ns ({:.0f}-{:.0f})\n",
              spread_of(trips).median, std::ranges::min(low), std::ranges::max(high));
}

void print_memory(const std::vector<BenchRow>& rows) {
    Table table({{.title = "allocator"},
                 {.title = "MB, highest", .align = Table::Align::right},
                 {.title = "MB, growth", .align = Table::Align::right},
                 {.title = "in s", .align = Table::Align::right},
                 {.title = "million/s", .align = Table::Align::right},
                 {.title = "corrections", .align = Table::Align::right}});
    for (const auto& row : rows) {
        if (row.name != "memory_highest") continue;
        const AllocatePoint point{text(row, "allocator"), pattern_passed, 2};
        const auto* rate = find(rows, "throughput_while_watched", point);
        const auto* corrections = find(rows, "corrections_while_watched", point);
        table.add({point.allocator, fmt::format("{:.1f}", row.value.median / 1e6),
                   fmt::format("{:.2f}", find(rows, "memory_growth", point)->value.median / 1e6),
                   fmt::format("{:.1f}{}", row.parameters.at("seconds").to_number<double>(),
                               row.parameters.at("memory_max_reached").as_bool() ? ", stopped at --memory-max" : ""),
                   rate != nullptr ? fmt::format("{:.1f}", rate->value.median / 1e6) : "machine busy",
                   corrections != nullptr ? with_commas(static_cast<std::uint64_t>(corrections->value.median)) : ""});
    }
    if (!table.empty())
        print("\nproducer/consumer: memory beyond that at the start, and its growth after the first second\n{}",
              table.text());
}

void print_corrections_and_ratios(const std::vector<BenchRow>& rows) {
    print("\n");
    for (const auto& row : rows) {
        if (row.name == "corrections")
            print("{} corrections, {}: {:.0f}\n", text(row, "allocator"),
                  axis_text(text(row, "pattern"), threads_of(row)), row.value.median);
    }
    for (const auto& row : rows) {
        if (row.unit != "ratio") continue;
        print("migrating to {}{}, {}: {:.2f} ({:.2f}-{:.2f})\n",
              row.name == "migrating_to_best_general" ? "the best general allocator, " : "", text(row, "allocator"),
              axis_text(text(row, "pattern"), threads_of(row)), row.value.median, row.value.low, row.value.high);
    }
}

}  // namespace

void print_allocate_rows(const std::vector<BenchRow>& rows, const std::vector<std::string>& not_installed) {
    print_throughput(rows);
    print_trips(rows);
    print_memory(rows);
    print_corrections_and_ratios(rows);
    for (const auto& name : not_installed)
        print("{}: not installed; apt-get install {}\n", name, allocate_candidate(name)->package);
}

Result<> draw_allocate_rows(const std::filesystem::path& target, const std::vector<BenchRow>& rows,
                            const AllocateRuns& runs, const Machine& machine) {
    std::string script = fmt::format(
        "set multiplot layout 1,2 title '{} ({} cores): lists, maps and texts of events'\nset grid\n"
        "set key outside below maxrows 5\nset logscale y\n",
        machine.processor, machine.cores);
    std::string private_plot, memory_plot;
    std::size_t number = 0;
    unsigned threads_max = 1;
    for (const auto& candidate : allocate_candidates()) {
        ++number;
        const auto add = [&](std::string& plot, const char* name, std::string_view how, const std::string& points) {
            if (points.empty()) return;
            script += fmt::format("${}{} << EOD\n{}EOD\n", name, number, points);
            plot += fmt::format("{}${}{} using {} lw {} lc rgb '{}' dt {} title '{}'", plot.empty() ? "plot " : ", ",
                                name, number, how, candidate.ours ? 3 : 2, candidate.color, candidate.ours ? 1 : 2,
                                candidate.name);
        };
        std::string points;
        for (const auto& [pattern, threads] : axes(rows)) {
            if (pattern == pattern_private) threads_max = std::max(threads_max, threads);
            const auto* rate =
                pattern == pattern_private ? find(rows, "throughput", {candidate.name, pattern, threads}) : nullptr;
            if (rate != nullptr)
                points += fmt::format("{} {} {} {}\n", threads, rate->value.median / 1e6, rate->value.low / 1e6,
                                      rate->value.high / 1e6);
        }
        add(private_plot, "private", "1:2:3:4 with yerrorlines", points);
        points.clear();
        if (const auto found = runs.long_runs.find(candidate.name); found != runs.long_runs.end())
            for (const auto& at : found->second.memory)
                if (at.seconds > 0) points += fmt::format("{} {}\n", at.seconds, std::max(at.bytes / 1e6, 0.1));
        add(memory_plot, "memory", "1:2 with lines", points);
    }
    if (!private_plot.empty())
        script += fmt::format(
            "set title 'each thread for itself'\nset xlabel 'threads'\nset logscale x 2\nset xrange [0.9:{}]\n"
            "set ylabel 'million insertions and erasures/s'\n{}\n",
            1.1 * threads_max, private_plot);
    if (!memory_plot.empty())
        script += fmt::format(
            "set title 'allocated by one thread, freed by another'\nset xlabel 's'\nset logscale x 10\n"
            "set xrange [*:*] noextend\n"
            "set ylabel 'MB'\n{}\n",
            memory_plot);
    return draw(target, script + "unset multiplot\n", 1200, 560);
}

}  // namespace weir::app
