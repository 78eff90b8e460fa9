// SPDX-License-Identifier: Apache-2.0
#include "serialize/serialize_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "figures/plot.hpp"
#include "serialize/serialize_limits.hpp"
#include "serialize/serialize_ours.hpp"

namespace weir::app {
namespace {

constexpr std::array<const char*, 3> subjects{"10", "1000", "event"};

template <class Value, class Of>
std::vector<Value> each_once(const SerializePoints& points, Of of) {
    std::vector<Value> all;
    for (const auto& point : points)
        if (Value value = of(point); std::ranges::find(all, value) == all.end()) all.push_back(std::move(value));
    return all;
}

std::string title(std::string_view subject, bool writes) {
    return fmt::format("{}, {}", subject == "event" ? "an event" : fmt::format("{} things", subject),
                       writes ? "serialised" : "deserialised");
}

/// "3.4" or "-" when there is nothing to compare with.
std::string ratio_text(const SerializePoint* over, const SerializePoint* under) {
    return over == nullptr || under == nullptr ? "-" : fmt::format("{:.2f}", over->best() / under->best());
}

void print_table(const SerializePoints& points, const char* subject, bool writes,
                 const std::vector<unsigned>& threads) {
    fmt::print("\n{:<44}{:>8}{:>10}{:>10}{:>10}{:>9}", title(subject, writes), "bytes", "best ns", "median", "/memcpy",
               "ROOT/");
    for (const auto count : threads)
        if (count > 1) fmt::print("{:>12}", fmt::format("{} threads", count));
    fmt::print("\n");
    const auto* const memcpy_point = find_point(points, memcpy_limit, subject, writes);
    const auto* const root = find_point(points, root_object_wise, subject, writes);
    for (const auto& point : points) {
        if (point.subject != subject || point.writes != writes || point.threads != 1 || point.best() <= 0) continue;
        fmt::print("  {:<42}{:>8}{:>10.1f}{:>10.1f}{:>10}{:>9}", point.candidate, point.bytes, point.best() * 1e9,
                   point.medians().median * 1e9, ratio_text(&point, memcpy_point), ratio_text(root, &point));
        for (const auto count : threads) {
            if (count == 1) continue;
            const auto* const many = find_point(points, point.candidate, subject, writes, count);
            fmt::print("{:>12}", many == nullptr ? "none" : fmt::format("{:.2f}", scaling(point, *many)));
        }
        fmt::print("\n");
    }
}

/// Families keep a colour; weir is drawn thick, limits are dashed.
struct Family {
    const char* begin;
    std::array<const char*, 4> shades;
    double width;
    int dashes;
};
constexpr std::array<Family, 7> families{{{"weir, flag stored", {"#ff7f0e", "#c04000", "#ffb347", "#806000"}, 1.6, 1},
                                          {"weir, flag loaded", {"#e377c2", "#a03080", "#f0a0d8", "#a03080"}, 1.3, 1},
                                          {"weir", {"#d00000", "#ff5050", "#8b0000", "#d00000"}, 2.8, 1},
                                          {"ROOT", {"#1f3fbf", "#4fa3ff", "#0090a0", "#1f3fbf"}, 1.8, 1},
                                          {"Boost", {"#106010", "#30b030", "#90d070", "#106010"}, 1.2, 1},
                                          {"limit", {"#000000", "#707070", "#a0a0a0", "#c8c8c8"}, 1.2, 2},
                                          {"", {"#7b4fb0", "#8c6d31", "#17becf", "#b8a000"}, 1.2, 1}}};

std::string style_of(const std::vector<std::string>& candidates, std::size_t index) {
    const auto family = [](const std::string& name) {
        return std::ranges::find_if(families, [&](const Family& one) { return name.starts_with(one.begin); });
    };
    const auto* const mine = family(candidates[index]);
    std::size_t before = 0;
    for (std::size_t i = 0; i < index; ++i) before += family(candidates[i]) == mine ? 1U : 0U;
    return fmt::format("with linespoints lw {} dt {} lc rgb '{}' pt {} ps 0.8 title '{}'", mine->width, mine->dashes,
                       mine->shades[before % mine->shades.size()], before + 4, candidates[index]);
}

}  // namespace

void print_serialize_points(const SerializePoints& points, const std::vector<std::string>& notes) {
    const auto threads = each_once<unsigned>(points, [](const SerializePoint& point) { return point.threads; });
    for (const bool writes : {true, false})
        for (const auto* subject : subjects)
            if (std::ranges::any_of(
                    points, [&](const auto& point) { return point.subject == subject && point.writes == writes; }))
                print_table(points, subject, writes, threads);
    if (const auto targets = serialize_targets(points); !targets.empty()) {
        fmt::print("\n{:<72}{:>9}{:>10}\n", "what this run should show (best batches)", "is", "wanted");
        for (const auto& target : targets)
            fmt::print("  {:<70}{:>9.2f}{:>10}{}\n", target.what, target.value,
                       fmt::format("{} {:g}", target.at_least ? ">=" : "<=", target.wanted),
                       target.met() ? "" : "  MISSED");
    }
    if (!notes.empty()) fmt::print("\n");
    for (const auto& note : notes) fmt::print("{}\n", note);
}

Result<> draw_serialize_points(const std::filesystem::path& target, const SerializePoints& points,
                               const Machine& machine) {
    auto candidates = each_once<std::string>(points, [](const SerializePoint& point) { return point.candidate; });
    std::erase_if(candidates,
                  [](const std::string& name) { return name.starts_with("weir kernel") && name != ours_portable; });
    const auto threads = each_once<unsigned>(points, [](const SerializePoint& point) { return point.threads; });
    const unsigned most = threads.empty() ? 1 : std::ranges::max(threads);
    std::string script = fmt::format(
        "set termoption noenhanced\nset multiplot title '{}: streaming against threads, each with its own buffer, best "
        "batches'\n"
        "set grid\nset logscale xy\nset xrange [{}:{}]\nset format y '%g'\nset xtics (",
        machine.processor, 0.9, most * 1.12);
    for (const auto count : threads)
        script += fmt::format("{}'{}' {}", count == threads.front() ? "" : ", ", count, count);
    script += ")\nunset key\n";
    std::size_t block = 0;
    for (const bool writes : {true, false}) {
        for (std::size_t column = 0; column < subjects.size(); ++column) {
            std::string plot;
            for (std::size_t i = 0; i < candidates.size(); ++i) {
                std::string data;
                for (const auto count : threads)
                    if (const auto* point = find_point(points, candidates[i], subjects[column], writes, count))
                        data += fmt::format("{} {:.5g}\n", count, count / point->best() / 1e6);
                if (data.empty()) continue;
                script += fmt::format("$d{} << EOD\n{}EOD\n", ++block, data);
                plot +=
                    fmt::format("{}$d{} using 1:2 {}", plot.empty() ? "plot " : ", ", block, style_of(candidates, i));
            }
            if (plot.empty()) continue;
            script +=
                fmt::format("set origin {:.3f},{:.3f}\nset size 0.245,0.46\nset title '{}'\n{}{}{}\n",
                            0.245 * static_cast<double>(column), writes ? 0.49 : 0.02, title(subjects[column], writes),
                            column == 0 ? "set ylabel 'million a second'\n" : "unset ylabel\n",
                            writes ? "unset xlabel\n" : "set xlabel 'threads'\n", plot);
        }
    }
    // One legend for all panels: an empty plot at the right.
    script +=
        "set origin 0.735,0.02\nset size 0.265,0.93\nunset title\nunset xlabel\nunset ylabel\nunset xtics\nunset "
        "ytics\nunset border\n"
        "unset grid\nset key at graph 0,1 left top reverse Left samplen 2 spacing 1.2 font ',10'\n"
        "unset logscale\nset xrange [0:1]\nset yrange [0:1]\n";
    std::string legend;
    for (std::size_t i = 0; i < candidates.size(); ++i)
        legend += fmt::format("{}-1 {}", legend.empty() ? "plot " : ", ", style_of(candidates, i));
    return draw(target, script + legend + "\nunset multiplot\n", 1500, 900);
}

}  // namespace weir::app
