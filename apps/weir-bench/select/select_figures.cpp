// SPDX-License-Identifier: Apache-2.0
#include "select/select_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "figures/plot.hpp"
#include "weir/base/clock.hpp"

namespace weir::app {
namespace {

double real(const BenchRow& row, const char* parameter) { return row.parameters.at(parameter).to_number<double>(); }

std::string latency_text(double seconds) {
    if (seconds == 0) return "there at once";
    return to_string(std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9 + 0.5))) + " late";
}

/// What stands on an axis, each once, in the order of the rows.
std::vector<double> values(const std::vector<BenchRow>& rows, const char* parameter) {
    std::vector<double> all;
    for (const auto& row : rows)
        if (const auto value = real(row, parameter); std::ranges::find(all, value) == all.end()) all.push_back(value);
    return all;
}

const BenchRow* find(const std::vector<BenchRow>& rows, std::string_view name, double workers, double latency) {
    const auto found = std::ranges::find_if(rows, [&](const BenchRow& row) {
        return row.name == name && real(row, "workers") == workers && real(row, "latency") == latency;
    });
    return found == rows.end() ? nullptr : &*found;
}

}  // namespace

namespace {

void print_table(const std::vector<BenchRow>& rows, const char* rate_name, const char* cpu_name) {
    for (const auto latency : values(rows, "latency")) fmt::print("{:>24}", "data " + latency_text(latency));
    fmt::print("\n");
    for (const auto workers : values(rows, "workers")) {
        fmt::print("{:>8.0f}", workers);
        for (const auto latency : values(rows, "latency")) {
            const auto* rate = find(rows, rate_name, workers, latency);
            const auto* cpu = find(rows, cpu_name, workers, latency);
            if (rate != nullptr && cpu != nullptr)
                fmt::print("{:>15.0f} {:>8.1f}", rate->value.median, cpu->value.median * 1e6);
        }
        fmt::print("\n");
    }
}

/// Of the rows whose selection requests its data; 0: there are none.
std::int64_t steps_of(const std::vector<BenchRow>& rows) {
    for (const auto& row : rows)
        if (const auto* steps = row.parameters.if_contains("steps")) return steps->to_number<std::int64_t>();
    return 0;
}

}  // namespace

void print_select_rows(const std::vector<BenchRow>& rows) {
    fmt::print("\nevents/s of one processing unit, and CPU us an event (all its threads)\n{:>8}", "workers");
    print_table(rows, "event_rate", "cpu");
    if (const auto steps = steps_of(rows); steps > 0) {
        fmt::print("\nthe same, with a selection that requests data in {} steps\n{:>8}", steps, "workers");
        print_table(rows, "stepped_event_rate", "stepped_cpu");
    }
}

Result<> draw_select_rows(const std::filesystem::path& target, const std::vector<BenchRow>& rows,
                          const Machine& machine) {
    std::string script = fmt::format(
        "set title 'One level-2 processing unit, {} ({} cores)'\nset grid\nset key top left\nset logscale y\n"
        "set xlabel 'worker threads'\nset ylabel 'events/s'\n",
        machine.processor, machine.cores);
    std::string plot;
    std::size_t block = 0;
    const auto steps = steps_of(rows);
    for (const bool stepped : {false, true}) {
        if (stepped && steps == 0) continue;
        for (const auto latency : values(rows, "latency")) {
            script += fmt::format("$d{} << EOD\n", ++block);
            for (const auto workers : values(rows, "workers"))
                if (const auto* row = find(rows, stepped ? "stepped_event_rate" : "event_rate", workers, latency))
                    script += fmt::format("{} {} {} {}\n", workers, row->value.median, row->value.low, row->value.high);
            script += "EOD\n";
            plot += fmt::format("{}$d{} using 1:2:3:4 with yerrorlines lw 2{} title 'data {}{}'",
                                plot.empty() ? "plot " : ", ", block, stepped ? " dt 2" : "", latency_text(latency),
                                stepped ? fmt::format(", in {} steps", steps) : "");
        }
    }
    return draw(target, script + plot + "\n");
}

}  // namespace weir::app
