// SPDX-License-Identifier: Apache-2.0
#include "parallel/parallel_figures.hpp"

#include <fmt/format.h>

#include <string>

#include "figures/plot.hpp"

namespace weir::app {
namespace {

std::string text(const BenchRow& row, const char* parameter) {
    return std::string(row.parameters.at(parameter).as_string());
}
std::uint64_t number(const BenchRow& row, const char* parameter) {
    return row.parameters.at(parameter).to_number<std::uint64_t>();
}

std::string series_of(const BenchRow& row) {
    return fmt::format("{}, {} threads, data {}", text(row, "kernel"), number(row, "threads"), text(row, "data"));
}

std::string kib(std::uint64_t bytes) {
    return bytes >= 1048576 ? fmt::format("{}M", bytes >> 20) : fmt::format("{}K", bytes >> 10);
}

}  // namespace

void print_parallel_rows(const std::vector<BenchRow>& rows) {
    fmt::print("\na call of 64 bytes, ns (low-high)\n");
    for (const auto& row : rows) {
        if (row.name == "call of 64 bytes")
            fmt::print("  {:<24}{:>8.1f} ({:.1f}-{:.1f})\n", text(row, "how"), row.value.median, row.value.low,
                       row.value.high);
    }
    fmt::print("\nhand-over to one more thread, ns           median       p99\n");
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
        if (rows[i].name == "hand-over" && text(rows[i], "quantile") == "median")
            fmt::print("  {:<38}{:>9.0f} {:>9.0f}\n", text(rows[i], "scheme"), rows[i].value.median,
                       rows[i + 1].value.median);
    }
    fmt::print("\nspeed-up of a split event over one thread (scheme iv), and the cutoff from which it wins\n");
    std::string header, line, series;
    const auto end_line = [&](const BenchRow& cutoff) {
        if (!header.empty()) fmt::print("{:<36}{}   cutoff\n", "", header);
        header.clear();
        const auto bytes = static_cast<std::uint64_t>(cutoff.value.median);
        fmt::print("{:<36}{}   {}\n", series_of(cutoff), line, bytes == 0 ? "none" : kib(bytes));
        line.clear();
    };
    bool first = true;
    for (const auto& row : rows) {
        if (row.name == "speed-up") {
            if (first) header += fmt::format("{:>6}", kib(number(row, "bytes")));
            line += fmt::format("{:>6.2f}", row.value.median);
        } else if (row.name == "cutoff") {
            end_line(row);
            first = false;
        }
    }
}

Result<> draw_parallel_rows(const std::filesystem::path& target, const std::vector<BenchRow>& rows,
                            const Machine& machine) {
    std::string script = fmt::format(
        "set multiplot layout 1,2 title '{}: adler32 of one event by several threads'\nset logscale x 2\nset grid\n"
        "set key left top\nset yrange [0:*]\nset xlabel 'bytes of the event'\nset ylabel 'speed-up'\n"
        "set xtics ('1K' 1024, '4K' 4096, '16K' 16384, '64K' 65536, '256K' 262144, '1M' 1048576)\n",
        machine.processor);
    std::size_t block = 0;
    for (const auto* kernel : {"zlib", "ours"}) {
        std::string plot = "plot 1 with lines dt 2 lc 'black' title 'one thread'";
        std::string current;
        std::size_t arrows = 0;
        script += "unset arrow\n";
        for (const auto& row : rows) {
            if ((row.name != "speed-up" && row.name != "cutoff") || text(row, "kernel") != kernel) continue;
            if (row.name == "cutoff") {
                script += current + "EOD\n";
                plot += fmt::format(", $d{} using 1:2:3:4 with yerrorlines lw 2 lc {} title '{} threads, data {}'",
                                    block, arrows + 1, number(row, "threads"), text(row, "data"));
                const auto bytes = static_cast<std::uint64_t>(row.value.median);
                if (bytes != 0)
                    script += fmt::format("set arrow from {}, graph 0 to {}, first 1 nohead lc {} dt 3\n", bytes, bytes,
                                          arrows + 1);
                ++arrows;
                ++block;
                current.clear();
                continue;
            }
            if (current.empty()) current = fmt::format("$d{} << EOD\n", block);
            current += fmt::format("{} {:.4f} {:.4f} {:.4f}\n", number(row, "bytes"), row.value.median, row.value.low,
                                   row.value.high);
        }
        script += fmt::format("set title 'kernel: {}'\n{}\n", kernel, plot);
    }
    return draw(target, script + "unset multiplot\n", 1200, 500);
}

}  // namespace weir::app
