// SPDX-License-Identifier: Apache-2.0
#include "readout/readout_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "figures/plot.hpp"
#include "weir/base/clock.hpp"

namespace weir::app {
namespace {

constexpr std::array strategies{"yield", "spin", "park"};

std::string text(const BenchRow& row, const char* parameter) {
    return std::string(row.parameters.at(parameter).as_string());
}
double real(const BenchRow& row, const char* parameter) { return row.parameters.at(parameter).to_number<double>(); }

std::string latency_text(double seconds) {
    return to_string(std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9 + 0.5)));
}

/// What stands on an axis, each once, in the order of the rows.
std::vector<double> values(const std::vector<BenchRow>& rows, const char* parameter) {
    std::vector<double> all;
    for (const auto& row : rows) {
        if (row.name != "request_rate") continue;
        const auto value = real(row, parameter);
        if (std::ranges::find(all, value) == all.end()) all.push_back(value);
    }
    return all;
}

const BenchRow* find(const std::vector<BenchRow>& rows, std::string_view name, std::string_view strategy,
                     double handlers, double latency) {
    const auto found = std::ranges::find_if(rows, [&](const BenchRow& row) {
        return row.name == name && text(row, "strategy") == strategy && real(row, "handlers") == handlers &&
               real(row, "latency") == latency;
    });
    return found == rows.end() ? nullptr : &*found;
}

}  // namespace

void print_readout_rows(const std::vector<BenchRow>& rows) {
    for (const auto latency : values(rows, "latency")) {
        fmt::print("\ndata {}: requests/s, and CPU us a request (all threads)\n{:>9}",
                   latency == 0 ? "there at once" : latency_text(latency) + " late", "handlers");
        for (const auto* strategy : strategies) fmt::print("{:>22}", strategy);
        fmt::print("\n");
        for (const auto handlers : values(rows, "handlers")) {
            if (handlers == 0) continue;
            fmt::print("{:>9.0f}", handlers);
            for (const auto* strategy : strategies) {
                const auto* rate = find(rows, "request_rate", strategy, handlers, latency);
                const auto* cpu = find(rows, "cpu", strategy, handlers, latency);
                if (rate == nullptr || cpu == nullptr) continue;
                fmt::print("{:>13.0f} {:>8.2f}", rate->value.median, cpu->value.median * 1e6);
            }
            fmt::print("\n");
        }
        if (const auto* rate = find(rows, "request_rate", "none", 0, latency))
            fmt::print("  without handlers, answered by the thread that receives: {:.0f}, {:.2f} us\n",
                       rate->value.median, find(rows, "cpu", "none", 0, latency)->value.median * 1e6);
    }
    bool headed = false;
    for (const auto& row : rows) {
        if (row.name == "request_rate" || row.name == "cpu") continue;
        if (!headed) fmt::print("\n");
        headed = true;
        std::string what;
        for (const auto& [key, value] : row.parameters)
            what += fmt::format(
                "{}{} {}", what.empty() ? "" : ", ", std::string(key),
                value.is_string() ? std::string(value.as_string()) : fmt::format("{:g}", value.to_number<double>()));
        fmt::print("{:<18} {:>12.6g} {:<12} ({:.6g}-{:.6g})  {}\n", row.name, row.value.median, row.unit, row.value.low,
                   row.value.high, what);
    }
}

Result<> draw_readout_rows(const std::filesystem::path& target, const std::vector<BenchRow>& rows,
                           const Machine& machine) {
    const auto latencies = values(rows, "latency");
    std::string script = fmt::format(
        "set multiplot layout 2,{} title 'Requests of a readout, {} ({} cores)'\nset grid\nset key top left\n"
        "set xlabel 'request handlers'\nset xtics (1,2,4,8,12,16)\nset yrange [0:*]\n",
        latencies.size(), machine.processor, machine.cores);
    std::size_t block = 0;
    for (const auto* what : {"request_rate", "cpu"}) {
        const bool rate = std::string_view(what) == "request_rate";
        script +=
            rate ? "set ylabel 'requests/s'\n" : "set ylabel 'CPU us a request'\nset logscale y\nset yrange [1:*]\n";
        for (const auto latency : latencies) {
            std::string plot;
            for (const auto* strategy : strategies) {
                script += fmt::format("$d{} << EOD\n", ++block);
                for (const auto handlers : values(rows, "handlers")) {
                    if (const auto* row = find(rows, what, strategy, handlers, latency)) {
                        const double scale = rate ? 1 : 1e6;
                        script += fmt::format("{} {} {} {}\n", handlers, row->value.median * scale,
                                              row->value.low * scale, row->value.high * scale);
                    }
                }
                script += "EOD\n";
                plot += fmt::format("{}$d{} using 1:2:3:4 with yerrorlines lw 2 title '{}'",
                                    plot.empty() ? "plot " : ", ", block, strategy);
            }
            script += fmt::format("set title 'data {}'\n{}\n",
                                  latency == 0 ? "there at once" : latency_text(latency) + " late", plot);
        }
    }
    return draw(target, script + "unset multiplot\n", 400 * static_cast<int>(latencies.size()), 800);
}

}  // namespace weir::app
