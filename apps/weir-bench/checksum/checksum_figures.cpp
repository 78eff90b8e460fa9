// SPDX-License-Identifier: Apache-2.0
#include "checksum/checksum_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "figures/plot.hpp"

namespace weir::app {
namespace {

namespace json = boost::json;

std::string text(const BenchRow& row, const char* parameter) {
    return std::string(row.parameters.at(parameter).as_string());
}

struct Line {
    std::string implementation;
    bool peer = false;
    std::vector<const BenchRow*> sizes;  // hot ones rising, then dram
};

using Tables = std::vector<std::pair<std::string, std::vector<Line>>>;

/// Where the data of a row came from: "pieces" of memory, the caches of another "core", or else (hot, and all of
/// memory).
std::string_view place_of(const BenchRow& row) {
    const std::string_view memory = row.parameters.at("memory").as_string();
    return memory == "pieces" || memory == "core" ? memory : std::string_view{};
}

/// By algorithm, in the order of the rows.
Tables tables(const std::vector<BenchRow>& rows, std::string_view place = {}) {
    Tables tables;
    for (const auto& row : rows) {
        if (row.name != "throughput" || place_of(row) != place) continue;
        const auto algorithm = text(row, "algorithm");
        if (tables.empty() || tables.back().first != algorithm) tables.push_back({algorithm, {}});
        auto& lines = tables.back().second;
        const auto implementation = text(row, "implementation");
        if (lines.empty() || lines.back().implementation != implementation)
            lines.push_back({implementation, row.peer, {}});
        lines.back().sizes.push_back(&row);
    }
    return tables;
}

std::string size_text(const BenchRow& row) {
    const auto bytes = row.parameters.at("bytes").to_number<std::uint64_t>();
    if (row.parameters.at("memory").as_string() == "dram") return "memory";
    if (bytes % 1024 != 0) return fmt::format("{} B", bytes);
    return bytes % 1048576 == 0 ? fmt::format("{} MiB", bytes >> 20) : fmt::format("{} KiB", bytes >> 10);
}

void print_tables(const Tables& all, const char* title) {
    if (all.empty()) return;
    fmt::print("\n{}\n{:<16}{:<22}", title, "", "");
    for (const auto* row : all.front().second.front().sizes) fmt::print("{:>9}", size_text(*row));
    fmt::print("\n");
    for (const auto& [algorithm, lines] : all) {
        for (const auto& line : lines) {
            fmt::print("{:<16}{:<22}", &line == &lines.front() ? algorithm : "", line.implementation);
            for (const auto* row : line.sizes) fmt::print("{:>9.2f}", row->value.median);
            fmt::print("\n");
        }
        if (lines.size() < 2 || lines.front().peer) continue;
        fmt::print("{:<16}{:<22}", "", "weir / best peer");
        for (std::size_t i = 0; i < lines.front().sizes.size(); ++i) {
            double best = 0;
            for (const auto& line : lines) {
                if (line.peer) best = std::max(best, line.sizes[i]->value.median);
            }
            fmt::print("{:>9.2f}", lines.front().sizes[i]->value.median / best);
        }
        fmt::print("\n{:<16}{:<22}", "", "spread of weir, +- %");
        for (const auto* row : lines.front().sizes)
            fmt::print("{:>9.0f}", 50 * (row->value.high - row->value.low) / row->value.median);
        fmt::print("\n");
    }
}

}  // namespace

void print_checksum_rows(const std::vector<BenchRow>& rows) {
    print_tables(tables(rows), "GB/s of one thread, hot; the last column from memory");
    print_tables(tables(rows, "pieces"), "GB/s of one thread, each piece from memory");
    print_tables(tables(rows, "core"), "GB/s of one thread, each piece as another core has just written it");
    fmt::print("\nmemory to memory{:<28}{:>9} {:>15}\n", "", "GB/s", "(low-high)");
    for (const auto& row : rows) {
        if (row.name == "copy")
            fmt::print("{:<44}{:>9.2f} {:>7.2f}-{:<7.2f}\n", text(row, "implementation"), row.value.median,
                       row.value.low, row.value.high);
    }
    fmt::print("\nsums joined, each waiting for the last{:<6}{:>9} {:>15}\n", "", "ns", "(low-high)");
    for (const auto& row : rows) {
        if (row.name == "combine")
            fmt::print("{:<16}{:<28}{:>9.1f} {:>7.1f}-{:<7.1f}\n", text(row, "algorithm"), text(row, "implementation"),
                       row.value.median, row.value.low, row.value.high);
    }
    if (std::ranges::none_of(rows, [](const BenchRow& row) { return row.name == "file"; })) return;
    fmt::print(
        "\na file, by one thread that reads and sums in turn, or one that reads ahead of one that sums\n{:<44}{:>9} "
        "{:>15}\n",
        "", "GB/s", "(low-high)");
    for (const auto& row : rows) {
        if (row.name == "file")
            fmt::print("{:<16}{:<14}{:<14}{:>9.2f} {:>7.2f}-{:<7.2f}\n", text(row, "algorithm"), text(row, "reading"),
                       text(row, "through"), row.value.median, row.value.low, row.value.high);
    }
}

Result<> draw_checksum_rows(const std::filesystem::path& target, const std::vector<BenchRow>& rows,
                            const Machine& machine) {
    const auto all = tables(rows);
    const std::size_t columns = all.size() > 1 ? 3 : 1;
    const std::size_t lines = (all.size() + columns - 1) / columns;
    std::string script = fmt::format(
        "set multiplot layout {},{} title '{}, {}'\nset logscale x 2\nset grid\nset key below\n"
        "set yrange [0:*]\nset ylabel 'GB/s'\nset xtics ('16' 16, '64' 64, '256' 256, '1K' 1024, '4K' 4096, '32K' "
        "32768, "
        "'256K' 262144, '1M' 1048576, 'memory' 8388608)\n",
        lines, columns, machine.processor, machine.kernels);
    std::size_t block = 0;
    for (const auto& [algorithm, series] : all) {
        std::string plot;
        for (const auto& line : series) {
            script += fmt::format("$d{} << EOD\n", block);
            for (const auto* row : line.sizes) {
                const bool dram = row->parameters.at("memory").as_string() == "dram";
                script += fmt::format("{} {:.4f} {:.4f} {:.4f}\n",
                                      dram ? 8388608 : row->parameters.at("bytes").to_number<std::uint64_t>(),
                                      row->value.median, row->value.low, row->value.high);
            }
            script += "EOD\n";
            plot += fmt::format("{}$d{} using 1:2 with linespoints lw {} title '{}' noenhanced",
                                plot.empty() ? "plot " : ", ", block, line.peer ? 1 : 3, line.implementation);
            ++block;
        }
        script += fmt::format("set title '{}'\n{}\n", algorithm, plot);
    }
    script += "unset multiplot\n";
    return draw(target, script, static_cast<int>(420 * columns), static_cast<int>(260 * lines + 40));
}

}  // namespace weir::app
