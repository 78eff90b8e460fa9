// SPDX-License-Identifier: Apache-2.0
#include "undetected/undetected.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/math/distributions/binomial.hpp>
#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

#include "figures/plot.hpp"
#include "figures/rows.hpp"
#include "undetected/corruption.hpp"
#include "weir/checksum/adler32.hpp"
#include "weir/checksum/crc32.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/checksum/crc64.hpp"
#include "weir/digest/summer.hpp"

namespace weir::app {
namespace {

namespace json = boost::json;

struct Sum {
    const char* name;
    std::uint64_t (*of)(ConstData);
};

std::uint64_t xxh3(ConstData data) { return digest::sum(digest::Algorithm::xxh3_64, data).number(); }
std::uint64_t blake3(ConstData data) { return digest::sum(digest::Algorithm::blake3, data).number(); }

constexpr std::array sums{
    Sum{"adler32", [](ConstData data) -> std::uint64_t { return checksum::adler32(data); }},
    Sum{"crc32", [](ConstData data) -> std::uint64_t { return checksum::crc32(data); }},
    Sum{"crc32c", [](ConstData data) -> std::uint64_t { return checksum::crc32c(data); }},
    Sum{"crc64-xz", [](ConstData data) { return checksum::crc64_xz(data); }},
    Sum{"xxh3-64", xxh3},
    // What a hash of 64 bits misses cannot be counted; what its low bits miss can, and must halve with each bit.
    Sum{"xxh3-64, low 12 bits", [](ConstData data) { return xxh3(data) & 0xfff; }},
    Sum{"blake3, low 12 bits", [](ConstData data) { return blake3(data) & 0xfff; }},
};

struct Cell {
    std::string corruption;
    DataKind data;
    std::uint64_t sites;
    std::size_t bytes;
    std::uint64_t trials = 0;  // in which something was changed
    std::array<std::uint64_t, sums.size()> missed{};
};

/// Data for several trials in a row, so that making it does not cost more than summing it.
Cell try_out(const Corruption& corruption, DataKind data, std::uint64_t wanted, std::uint64_t seed) {
    Cell cell{corruption.name, data, corruption.sites, corruption.size, 0, {}};
    std::seed_seq seeds{seed, static_cast<std::uint64_t>(std::hash<std::string>{}(corruption.name)), corruption.sites,
                        static_cast<std::uint64_t>(data)};
    Randomness random(seeds);
    std::vector<std::byte> good(corruption.size), bad;
    std::array<std::uint64_t, sums.size()> right{};
    for (std::uint64_t trial = 0; trial < wanted; ++trial) {
        fill(good, data, random);
        bad = good;
        corruption.apply(bad, random);
        if (bad == good) continue;  // nothing happened, so there was nothing to detect
        ++cell.trials;
        for (std::size_t i = 0; i < sums.size(); ++i) {
            right[i] = sums[i].of(good);
            if (sums[i].of(bad) == right[i]) ++cell.missed[i];
        }
    }
    return cell;
}

/// 95 % bounds of Clopper and Pearson.
Spread fraction(std::uint64_t missed, std::uint64_t trials) {
    using Binomial = boost::math::binomial_distribution<double>;
    if (trials == 0) return {};
    const auto n = static_cast<double>(trials);
    const auto k = static_cast<double>(missed);
    const double low = missed == 0 ? 0 : Binomial::find_lower_bound_on_p(n, k, 0.025);
    const double high = missed == trials ? 1 : Binomial::find_upper_bound_on_p(n, k, 0.025);
    return {k / n, low, high, trials};
}

/// Two pages of 4 KiB swapped, by algebra: with a prime modulus adler32 stays as it was exactly when the sums of
/// the bytes of both pages are equal, wherever they lie. So n pages give n * (n - 1) / 2 trials.
struct SwappedPages {
    DataKind data;
    std::uint64_t pairs = 0, missed = 0;
};

SwappedPages swap_pages(DataKind data, std::uint64_t seed) {
    constexpr std::size_t pages = 2500;
    Randomness random(seed);
    std::vector<std::byte> page(4096);
    std::vector<std::uint32_t> low(pages);
    for (auto& sum : low) {
        fill(page, data, random);
        sum = checksum::adler32(page) & 0xffff;
    }
    std::ranges::sort(low);
    SwappedPages result{data, pages * (pages - 1) / 2, 0};
    for (std::size_t i = 0, same = 0; i < pages; ++i) {
        same = i > 0 && low[i] == low[i - 1] ? same + 1 : 0;
        result.missed += same;
    }
    return result;
}

/// A block that lands in a wrong place together with its sum: the sum is right there too, unless the place and the
/// file are part of it. How often it is right with them.
std::uint64_t missed_with_salt(std::uint64_t trials, std::uint64_t seed) {
    Randomness random(seed);
    std::uint64_t missed = 0;
    for (std::uint64_t trial = 0; trial < trials; ++trial) {
        const auto block = static_cast<std::uint32_t>(random());  // its crc32c
        const std::uint64_t file = random(), from = random() % 1'000'000,
                            to = (from + 1 + random() % 999'999) % 1'000'000;
        const auto salted = [&](std::uint64_t place) {
            std::array<std::byte, 16> salt;
            std::memcpy(salt.data(), &file, 8);
            std::memcpy(salt.data() + 8, &place, 8);
            return checksum::crc32c(salt, block);
        };
        if (salted(from) == salted(to)) ++missed;
    }
    return missed;
}

void print_cells(const std::vector<Cell>& cells) {
    fmt::print("{:<45}{:>5} {:<9}{:>8}  {:>9} {:>19}  missed by\n", "damage", "sites", "data", "trials", "adler32",
               "95 % bounds");
    fmt::print("{:<45}{:>5} {:<9}{:>8}  {:>9} {:>19}  crc32 crc32c crc64 xxh3  low 12 bits: xxh3 blake3 (expected)\n",
               "", "", "", "", "misses", "");
    for (const auto& cell : cells) {
        const auto f = fraction(cell.missed[0], cell.trials);
        fmt::print(
            "{:<45}{:>5} {:<9}{:>8}  {:>9.2e} {:>9.1e}-{:<9.1e}  {:>5} {:>6} {:>5} {:>4} {:>18} {:>6} {:>10.1f}\n",
            cell.corruption, cell.sites, name(cell.data), cell.trials, f.median, f.low, f.high, cell.missed[1],
            cell.missed[2], cell.missed[3], cell.missed[4], cell.missed[5], cell.missed[6],
            static_cast<double>(cell.trials) / 4096);
    }
}

std::vector<BenchRow> rows_of(const std::vector<Cell>& cells) {
    std::vector<BenchRow> rows;
    for (const auto& cell : cells) {
        for (std::size_t i = 0; i < sums.size(); ++i) {
            rows.push_back({.name = "undetected",
                            .peer = false,
                            .parameters = {{"algorithm", sums[i].name},
                                           {"corruption", cell.corruption},
                                           {"sites", cell.sites},
                                           {"data", name(cell.data)},
                                           {"bytes", cell.bytes},
                                           {"missed", cell.missed[i]}},
                            .value = fraction(cell.missed[i], cell.trials),
                            .unit = "fraction"});
        }
    }
    return rows;
}

std::string figure(const std::vector<Cell>& cells) {
    std::string script =
        "set logscale xy\nset grid\nset key right center\nset xlabel 'words damaged'\nset ylabel 'undetected "
        "fraction'\n"
        "set format y '10^{%L}'\nset title 'What adler32 does not see: damage to the lanes of a bus, random data'\n";
    std::string plot;
    std::size_t block = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const auto& first = cells[i];
        const bool seen = std::ranges::any_of(
            cells.begin(), cells.begin() + static_cast<std::ptrdiff_t>(i),
            [&](const Cell& c) { return c.corruption == first.corruption && c.data == first.data; });
        if (seen || first.data != DataKind::random || first.bytes != first.sites * 16) continue;
        std::string points;
        for (const auto& cell : cells) {
            if (cell.corruption != first.corruption || cell.data != first.data || cell.missed[0] == 0) continue;
            const auto f = fraction(cell.missed[0], cell.trials);
            points += fmt::format("{} {} {} {}\n", cell.sites, f.median, f.low, f.high);
        }
        if (points.empty()) continue;
        script += fmt::format("$d{} << EOD\n{}EOD\n", block, points);
        plot += fmt::format("{}$d{} using 1:2:3:4 with yerrorlines lw 2 title '{}'", plot.empty() ? "plot " : ", ",
                            block, first.corruption);
        ++block;
    }
    return script + plot + ", 2.0**-32 with lines dt 2 lc 'black' title '2^{-32}'\n";
}

}  // namespace

int run_bench_undetected(const UndetectedBenchOptions& options) {
    if (options.trials < 100) {
        fmt::print(stderr, "weir bench: --trials must be 100 at least, or the fractions mean nothing\n");
        return 2;
    }
    std::vector<Cell> cells;
    const auto add = [&](const Corruption& corruption, DataKind data) {
        // About the same bytes for each kind of damage.
        const auto trials =
            std::max<std::uint64_t>(100, options.trials * 1024 / std::max<std::uint64_t>(corruption.size, 1024));
        cells.push_back(try_out(corruption, data, trials, options.seed));
        if (!options.json) fmt::print(stderr, "{} on {} data\n", corruption.name, name(data));
    };
    for (const std::uint64_t sites : {4U, 16U, 64U, 256U, 1024U, 4096U}) {
        for (const auto& corruption : lane_corruptions(sites)) add(corruption, DataKind::random);
    }
    for (const auto data : {DataKind::random, DataKind::pedestal, DataKind::hits}) {
        for (const auto& corruption : block_corruptions()) add(corruption, data);
        for (const auto& corruption : bit_corruptions()) add(corruption, data);
    }
    const std::array swapped{swap_pages(DataKind::random, options.seed), swap_pages(DataKind::pedestal, options.seed)};
    const auto salted_trials = options.trials * 100;
    const auto salted = missed_with_salt(salted_trials, options.seed);
    const auto machine = Machine::here();
    auto rows = rows_of(cells);
    for (const auto& pages : swapped) {
        rows.push_back({.name = "undetected",
                        .peer = false,
                        .parameters = {{"algorithm", "adler32"},
                                       {"corruption", "two 4 KiB pages swapped (all pairs)"},
                                       {"sites", 0},
                                       {"data", name(pages.data)},
                                       {"bytes", 8192},
                                       {"missed", pages.missed}},
                        .value = fraction(pages.missed, pages.pairs),
                        .unit = "fraction"});
    }
    rows.push_back({.name = "undetected",
                    .peer = false,
                    .parameters = {{"algorithm", "crc32c with file and place"},
                                   {"corruption", "block with its sum in a wrong place"},
                                   {"sites", 0},
                                   {"data", "random"},
                                   {"bytes", 4096},
                                   {"missed", salted}},
                    .value = fraction(salted, salted_trials),
                    .unit = "fraction"});
    if (options.json) {
        fmt::print("{}\n", json::serialize(bench_document("undetected", machine, rows,
                                                          {{"seed", options.seed}, {"trials", options.trials}})));
    } else {
        print_cells(cells);
        for (const auto& pages : swapped) {
            const auto f = fraction(pages.missed, pages.pairs);
            fmt::print("\ntwo 4 KiB pages swapped, {} data, all pairs: adler32 misses {} of {}, {:.2e} ({:.1e}-{:.1e})",
                       name(pages.data), pages.missed, pages.pairs, f.median, f.low, f.high);
        }
        fmt::print(
            "\na block with its crc32c in a wrong place: always missed; with file and place in the sum: {} of {}\n",
            salted, salted_trials);
    }
    if (options.plot.empty()) return 0;
    if (auto drawn = draw(options.plot, figure(cells), 900, 600); !drawn) {
        fmt::print(stderr, "weir bench: {}\n", drawn.error().message());
        return drawn.error().code == Errc::usage ? 2 : 1;
    }
    if (!options.json) fmt::print("drawn: {}\n", options.plot);
    return 0;
}

}  // namespace weir::app
