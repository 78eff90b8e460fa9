// SPDX-License-Identifier: Apache-2.0
#include "build/build_figures.hpp"

#include <fmt/format.h>

#include <map>
#include <string>

#include "figures/plot.hpp"

namespace weir::app {
namespace {

std::string text(const BenchRow& row, const char* parameter) {
    const auto found = row.parameters.find(parameter);
    return found == row.parameters.end() ? "" : std::string(found->value().as_string());
}
double value(const BenchRow& row, const char* parameter) {
    const auto found = row.parameters.find(parameter);
    return found == row.parameters.end() ? 0 : found->value().to_number<double>();
}

/// What distinguishes this row from the others of its series.
std::string what(const BenchRow& row) {
    std::string line = fmt::format("{:>5.0f} x {:>5.0f} B", value(row, "sources"), value(row, "fragment"));
    if (row.name == "size") line += fmt::format(", frames of {:.0f}", value(row, "datagram"));
    if (row.name == "loss") line += fmt::format(", {:.1f} % lost", value(row, "loss") * 100);
    if (row.name == "wakes") line += ", " + text(row, "wakes");
    if (row.name == "output") line += row.parameters.at("output").as_bool() ? ", with output" : ", input only";
    if (row.name == "line") line += row.parameters.at("shaping").as_bool() ? ", shaped" : ", not shaped";
    if (row.name == "rate") line += fmt::format(", {:.0f} Hz", value(row, "rate_hz"));
    return line + (row.peer ? "  " + text(row, "implementation") : "");
}

}  // namespace

void print_build_rows(const std::vector<BenchRow>& rows) {
    std::string series;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (text(rows[i], "figure") != "bandwidth") continue;
        if (rows[i].name != series) {
            series = rows[i].name;
            fmt::print("\n{:<52}{:>22}{:>10}{:>9}{:>10}{:>9}\n", series, "GB/s", "fragm./s", "events/s", "CPU-s/GB",
                       "again %");
        }
        std::map<std::string, double> figures;
        for (std::size_t k = i; k < rows.size() && (k == i || text(rows[k], "figure") != "bandwidth"); ++k)
            figures[text(rows[k], "figure")] = rows[k].value.median;
        const auto& v = rows[i].value;
        fmt::print("{:<52}{:>8.3f} ({:.3f}-{:.3f}){:>9.0f}{:>9.0f}{:>10.3f}", what(rows[i]), v.median, v.low, v.high,
                   figures["messages"], figures["events"], figures["processor"]);
        if (rows[i].peer) {
            fmt::print("\n");
        } else {
            fmt::print("{:>9.2f}{}\n", figures["asked again"] * 100,
                       series == "line" ? fmt::format("  {:.2f} of the line, {:.0f} ROBs lost", figures["of the line"],
                                                      figures["lost ROBs"])
                                        : "");
        }
    }
}

Result<> draw_build_rows(const std::filesystem::path& target, const std::vector<BenchRow>& rows,
                         const Machine& machine) {
    const auto series = [&](const char* name, const char* figure, const char* axis, bool peer, bool one_frame) {
        std::string points;
        for (const auto& row : rows) {
            if (row.name != name || text(row, "figure") != figure || row.peer != peer || value(row, "sources") == 0)
                continue;
            if (std::string(name) == "size" && (value(row, "fragment") < 1400) != one_frame) continue;
            points += fmt::format("{} {} {} {}\n", value(row, axis), row.value.median, row.value.low, row.value.high);
        }
        return points.empty() ? std::string("1 NaN NaN NaN\n") : points;
    };
    std::string script = fmt::format(
        "set multiplot layout 2,2 title '{}: building events'\nset grid\nset key left top\nset yrange [0:*]\n",
        machine.processor);
    int block = 0;
    const auto data = [&](const std::string& points) {
        script += fmt::format("$d{} << EOD\n{}EOD\n", ++block, points);
    };
    const auto plot = [&](const char* labels, std::initializer_list<std::pair<int, const char*>> lines) {
        script += labels;
        std::string all;
        for (const auto& [number, title] : lines)
            all += fmt::format("{}$d{} using 1:2:3:4 with yerrorlines title '{}'", all.empty() ? "plot " : ", ", number,
                               title);
        script += all + "\n";
    };
    data(series("size", "bandwidth", "event", false, true));
    data(series("size", "bandwidth", "event", true, true));
    data(series("size", "bandwidth", "event", false, false));
    data(series("size", "bandwidth", "event", true, false));
    plot("set logscale x\nset xlabel 'bytes of the event'\nset ylabel 'input, GB/s'\n",
         {{1, "weir, 1.4 kB fragments"}, {2, "limit: sockets"}, {3, "weir, larger fragments"}, {4, "limit: sockets"}});
    data(series("sources", "messages", "sources", false, true));
    data(series("sources", "messages", "sources", true, true));
    plot("set xlabel 'sources, 1.4 kB each'\nset ylabel 'fragments/s'\n", {{5, "weir"}, {6, "limit: sockets"}});
    data(series("loss", "bandwidth", "loss", false, true));
    plot("unset logscale x\nset xlabel 'datagrams lost, each way'\nset ylabel 'input, GB/s'\n",
         {{7, "weir, 1 MB of 200 sources"}});
    data(series("size", "messages", "event", false, true));
    data(series("size", "messages", "event", true, true));
    plot("set logscale x\nset xlabel 'bytes of the event'\nset ylabel 'fragments/s'\n",
         {{8, "weir, 1.4 kB fragments"}, {9, "limit: sockets"}});
    script += "unset multiplot\n";
    return draw(target, script, 1100, 800);
}

}  // namespace weir::app
