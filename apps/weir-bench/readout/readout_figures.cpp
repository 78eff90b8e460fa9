// SPDX-License-Identifier: Apache-2.0
#include "readout/readout_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "figures/plot.hpp"
#include "weir/base/clock.hpp"

namespace weir::app {
namespace {

constexpr std::array strategies{"yield", "spin", "park"};

std::string text(const BenchRow& row, const char* parameter) {
    return std::string(row.parameters.at(parameter).as_string());
}
double real(const BenchRow& row, const char* parameter) { return row.parameters.at(parameter).to_number<double>(); }

/// On the way of a fragment; with what they are called in a table.
constexpr std::array<std::pair<const char*, const char*>, 8> stages{{{"sender", "sender"},
                                                                     {"readout input", "input"},
                                                                     {"readout answers", "answers"},
                                                                     {"supervisor", "l2sv"},
                                                                     {"dfm", "dfm"},
                                                                     {"builder", "builder"},
                                                                     {"builder output", "output"},
                                                                     {"recorder", "recorder"}}};

bool is_built(const BenchRow& row) {
    return row.name.starts_with("input_built_") || row.name == "input_limiting_stage";
}

/// The row of this name with the input and the shape of `like`; of one stage, or of all.
const BenchRow* built(const std::vector<BenchRow>& rows, std::string_view name, const BenchRow& like,
                      std::string_view stage = {}) {
    const auto found = std::ranges::find_if(rows, [&](const BenchRow& row) {
        return row.name == name &&
               std::ranges::all_of(
                   std::array{"input", "fragment_size", "sources"},
                   [&](const char* key) { return row.parameters.at(key) == like.parameters.at(key); }) &&
               (stage.empty() || row.parameters.at("stage").as_string() == stage);
    });
    return found == rows.end() ? nullptr : &*found;
}

void print_built_rows(const std::vector<BenchRow>& rows) {
    bool headed = false;
    for (const auto& row : rows) {
        if (row.name != "input_built_rate") continue;
        if (!std::exchange(headed, true)) {
            fmt::print(
                "\nfragments with trigger and building behind: CPU us a fragment in each stage\n{:<20} {:>10} {:>11} "
                "{:>6}",
                "from", "bytes", "fragments/s", "cores");
            for (const auto& [stage, short_name] : stages) fmt::print(" {:>8}", short_name);
            fmt::print("  most CPU in\n");
        }
        fmt::print("{:<20} {:>10} {:>11.0f} {:>6.2f}", text(row, "input"),
                   fmt::format("{} x {:.0f}", real(row, "sources"), real(row, "fragment_size")), row.value.median,
                   built(rows, "input_built_cores", row)->value.median);
        for (const auto& [stage, short_name] : stages)
            fmt::print(" {:>8.3f}", built(rows, "input_built_cpu", row, stage)->value.median * 1e6);
        const auto* const limit = built(rows, "input_limiting_stage", row);
        fmt::print("  {}, {:.2f} of a processor", text(*limit, "stage"), limit->value.median);
        if (const auto incomplete = built(rows, "input_built_incomplete", row)->value.median; incomplete > 0)
            fmt::print("; {:.3g} of the events incomplete", incomplete);
        fmt::print("\n");
    }
}

/// A column of the plot for each shape: rates above, the processor time of the stages below.
struct BuiltShape {
    double size = 0, sources = 0;
    bool operator==(const BuiltShape&) const = default;
};
std::vector<BuiltShape> built_shapes(const std::vector<BenchRow>& rows) {
    std::vector<BuiltShape> shapes;
    for (const auto& row : rows) {
        if (row.name != "input_built_rate") continue;
        const BuiltShape shape{real(row, "fragment_size"), real(row, "sources")};
        if (std::ranges::find(shapes, shape) == shapes.end()) shapes.push_back(shape);
    }
    return shapes;
}

std::string built_panel(const std::vector<BenchRow>& rows, const BuiltShape& shape, bool rate, std::size_t block) {
    std::string script = fmt::format("$b{} << EOD\n", block);
    for (const auto& row : rows) {
        if (row.name != "input_built_rate") continue;
        if (BuiltShape{real(row, "fragment_size"), real(row, "sources")} != shape) continue;
        script += fmt::format("\"{}\"", text(row, "input"));
        if (rate) {
            script += fmt::format(" {} {} {}", row.value.median, row.value.low, row.value.high);
        } else {
            for (const auto& [stage, short_name] : stages)
                script += fmt::format(" {}", built(rows, "input_built_cpu", row, stage)->value.median * 1e6);
        }
        script += "\n";
    }
    script += fmt::format("EOD\nset title 'built, {:.0f} x {:.0f} bytes'\nset ylabel '{}'\n", shape.sources, shape.size,
                          rate ? "fragments/s" : "CPU us a fragment");
    if (rate)
        return script + fmt::format("set style histogram errorbars\nplot $b{} using 2:3:4:xtic(1) notitle\n", block);
    script += "set key outside right samplen 1\nset style histogram rowstacked\nplot ";
    for (std::size_t i = 0; i < stages.size(); ++i)
        script += fmt::format("{}$b{} using {}{} title '{}'", i == 0 ? "" : ", ", block, i + 2,
                              i == 0 ? ":xtic(1)" : "", stages[i].first);
    return script + "\n";
}

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
    print_built_rows(rows);
    bool headed = false;
    for (const auto& row : rows) {
        if (row.name == "request_rate" || row.name == "cpu" || is_built(row)) continue;
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
    const auto shapes = built_shapes(rows);
    std::string script = fmt::format(
        "set multiplot layout 2,{} title 'Requests of a readout, {} ({} cores)'\nset grid\nset key top left\n"
        "set xlabel 'request handlers'\nset xtics (1,2,4,8,12,16)\nset yrange [0:*]\n",
        latencies.size() + shapes.size(), machine.processor, machine.cores);
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
        if (shapes.empty()) continue;
        std::string panels;
        for (const auto& shape : shapes) panels += built_panel(rows, shape, rate, ++block);
        script += fmt::format(
            "unset logscale y\nset yrange [0:*]\nset xlabel ''\nset style data histograms\nset style fill solid 0.7\n"
            "set xtics autofreq rotate by -30\n{}set xlabel 'request handlers'\nset style data points\nset key inside "
            "top left samplen 4\nset xtics norotate "
            "(1,2,4,8,12,16)\n",
            panels);
    }
    return draw(target, script + "unset multiplot\n", 400 * static_cast<int>(latencies.size() + shapes.size()), 800);
}

}  // namespace weir::app
