// SPDX-License-Identifier: Apache-2.0
#include "watch/top/top_pages.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/output.hpp"
#include "cli/terminal/screen_text.hpp"
#include "watch/top/station_page.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<ScreenLine>;
using enum ScreenLine::Style;

constexpr auto fresh = 2'500ms;  // older than this is stale: two answers have not come
constexpr std::size_t name_columns = 12, kind_columns = 9, state_columns = 10, host_columns = 10, number_columns = 9;
constexpr std::size_t alarm_lines_max = 6;

std::string clock_text(WallTime time) {
    return fmt::format("{:%H:%M:%S}", fmt::localtime(std::chrono::system_clock::to_time_t(time)));
}

std::string duration_text(double seconds) {
    const auto s = static_cast<std::uint64_t>(std::clamp(seconds, 0.0, 1e9));
    return fmt::format("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

/// Left and right at the two ends of a line.
std::string both_ends(std::string_view left, std::string_view right, std::size_t columns) {
    if (right.size() + 2 > columns) return screen_cell(left, columns);
    return screen_cell(left, columns - right.size() - 1) + " " + std::string(right);
}

std::string capitals(std::string text) {
    for (auto& letter : text)
        if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
    return text;
}

void add(Lines& lines, std::size_t columns, std::string_view text, ScreenLine::Style style = plain) {
    lines.push_back({screen_text(text, columns), style});
}

void add_head(Lines& lines, const Watched& watched, std::size_t columns) {
    const auto& p = watched.partition;
    auto text = fmt::format(" {}  {}", p.name.empty() ? "weir" : p.name, capitals(p.state));
    if (p.run > 0) text += fmt::format("  run {}", p.run);
    if (p.run > 0 && !p.single) text += "  " + duration_text(p.seconds);
    lines.push_back({both_ends(text, watched.seen ? clock_text(watched.seen_at) : "", columns), reverse});
}

/// Why what is shown may not be so any more.
void add_staleness(Lines& lines, const Watched& watched, std::size_t columns, SteadyTime now) {
    if (!watched.seen) {
        if (!watched.trouble.empty()) add(lines, columns, "NO ANSWER: " + watched.trouble, trouble);
        return;
    }
    if (now - *watched.seen <= fresh) return;
    add(lines, columns,
        fmt::format("STALE: what is shown is {} old; {}",
                    human(std::chrono::floor<std::chrono::seconds>(now - *watched.seen)),
                    watched.trouble.empty() ? std::string("no answer yet; asking again") : watched.trouble),
        trouble);
}

std::string rate_text(const Watched& watched, double Watched::Rates::* what) {
    return watched.rates ? short_number(std::max((*watched.rates).*what, 0.0)) : "-";
}

/// Of all recorders: what is stored, and how long there is room.
void add_storage(Lines& lines, const Watched& watched, std::size_t columns) {
    const auto& p = watched.partition;
    if (std::ranges::none_of(p.stations, [](const auto& station) { return station.kind == "record"; })) return;
    auto text = fmt::format("stored    {}, {} closed", short_bytes(p.sum_of("record", "bytes_stored")),
                            counted(static_cast<std::uint64_t>(std::max(p.sum_of("record", "files"), 0.0)), "file"));
    if (watched.rates) text += fmt::format(", {}/s", short_bytes(watched.rates->bytes));
    const auto disks = disk_text(watched);
    if (!disks.empty()) text += "; " + disks;
    add(lines, columns, text, disks.starts_with("FULL") ? trouble : plain);
    if (const auto waiting = hand_off_text(watched); !waiting.empty()) add(lines, columns, "hand-off  " + waiting);
}

void add_summary(Lines& lines, const Watched& watched, std::size_t columns) {
    const auto& p = watched.partition;
    if (!p.failure.empty()) add(lines, columns, "FAILED    " + p.failure, trouble);
    if (!p.comment.empty()) add(lines, columns, "comment   " + p.comment);
    if (!p.stop_reason.empty()) add(lines, columns, "stopped   " + p.stop_reason);
    if (!p.single) {
        using Rates = Watched::Rates;
        constexpr const char* row = "{:<10}{:>13}{:>13}{:>13}{:>13}";
        add(lines, columns, fmt::format(row, "", "accepted", "rejected", "built", "recorded"), faint);
        add(lines, columns,
            fmt::format(row, "events/s", rate_text(watched, &Rates::accepted), rate_text(watched, &Rates::rejected),
                        rate_text(watched, &Rates::built), rate_text(watched, &Rates::recorded)));
        add(lines, columns,
            fmt::format(row, "events", with_commas(p.accepted), with_commas(p.rejected), with_commas(p.built),
                        with_commas(p.recorded)));
        if (p.incomplete > 0)
            add(lines, columns, fmt::format("          {} INCOMPLETE", with_commas(p.incomplete)), trouble);
    }
    add_storage(lines, watched, columns);
    if (p.masked + p.silent + p.missing > 0)
        add(lines, columns,
            fmt::format("sources   {}: {} masked, {} silent, {} with missing fragments", p.sources, p.masked, p.silent,
                        p.missing),
            p.silent + p.missing > 0 ? trouble : plain);
    for (const auto& host : p.hosts)
        if (host.state != "up")
            add(lines, columns, fmt::format("machine   {} is {}: {}", host.name, host.state, host.trouble), trouble);
}

bool has_hosts(const PartitionPicture& partition) {
    return std::ranges::any_of(partition.stations, [](const auto& station) { return !station.host.empty(); });
}

std::string table_row(const std::array<std::string, 7>& cells, std::string_view mark, bool hosts, std::size_t columns) {
    auto row = std::string(mark) + screen_cell(cells[0], name_columns) + " " + screen_cell(cells[1], kind_columns) +
               " " + screen_cell(cells[2], state_columns) + " ";
    if (hosts) row += screen_cell(cells[3], host_columns) + " ";
    row += screen_cell(cells[4], number_columns, true) + " " + screen_cell(cells[5], number_columns, true) + "  " +
           cells[6];
    return screen_text(row, columns);
}

std::string table_head(bool hosts, std::size_t columns) {
    return table_row({"station", "kind", "state", "machine", "rate/s", "in hand", "what it has"}, " ", hosts, columns);
}

std::string station_row(const StationPicture& station, const Watched& watched, bool hosts, std::size_t columns) {
    return table_row({station.name, station.kind, station.state, station.host,
                      station.does_not_answer() ? "-" : short_number(station.rate),
                      short_number(static_cast<double>(station.in_hand)), station_detail(station, watched)},
                     station.in_trouble() ? "!" : " ", hosts, columns);
}

std::size_t latched(const std::vector<AlarmPicture>& alarms) {
    return static_cast<std::size_t>(std::ranges::count(alarms, true, &AlarmPicture::latched));
}

void add_alarm_line(Lines& lines, const Watched& watched, std::size_t columns) {
    const auto count = latched(watched.alarms);
    if (count == 0) return;
    const auto& first = watched.alarms.front();
    add(lines, columns,
        fmt::format("ALARMS    {}: {}: {}{}{}", count, first.station, first.name, first.text.empty() ? "" : ": ",
                    first.text),
        trouble);
}

void add_alarm(Lines& lines, const AlarmPicture& alarm, std::size_t columns) {
    add(lines, columns,
        fmt::format("{} {}: {}{}", alarm.latched ? capitals(alarm.severity) : "acknowledged", alarm.station, alarm.name,
                    alarm.raised > 1 ? fmt::format(" ({} times)", with_commas(alarm.raised)) : ""),
        alarm.latched ? trouble : faint);
    for (auto& text : screen_lines(alarm.text, columns - std::min<std::size_t>(columns, 4), alarm_lines_max))
        lines.push_back({"    " + std::move(text), alarm.latched ? plain : faint});
}

/// `body` from `scrolled` on, in what is left above the last row.
void add_scrolled(Lines& lines, Lines body, std::size_t& scrolled, std::size_t rows) {
    const auto room = rows > lines.size() + 1 ? rows - lines.size() - 1 : 0;
    scrolled = std::min(scrolled, body.size() > room ? body.size() - room : 0);
    for (std::size_t i = scrolled; i < std::min(body.size(), scrolled + room); ++i) lines.push_back(std::move(body[i]));
}

void add_stations(Lines& lines, const Watched& watched, TopView& view, ScreenSize size) {
    const auto stations = sorted_stations(watched.partition, view.sort);
    const bool hosts = has_hosts(watched.partition);
    add(lines, size.columns, "");
    add(lines, size.columns, table_head(hosts, size.columns), bold);
    auto chosen = static_cast<std::size_t>(
        std::ranges::find(stations, view.selected,
                          [](const auto* station) { return std::string_view(station->name); }) -
        stations.begin());
    if (chosen == stations.size()) chosen = 0;
    Lines body;
    for (std::size_t i = 0; i < stations.size(); ++i) {
        auto text = station_row(*stations[i], watched, hosts, size.columns);
        if (i == chosen) text = screen_cell(text, size.columns);  // to the edge
        body.push_back({std::move(text), i == chosen ? reverse : stations[i]->in_trouble() ? trouble : plain});
    }
    const auto room = size.rows > lines.size() + 1 ? size.rows - lines.size() - 1 : 1;
    view.scrolled = std::clamp(view.scrolled, chosen >= room ? chosen - room + 1 : 0, chosen);
    add_scrolled(lines, std::move(body), view.scrolled, size.rows);
}

void add_log(Lines& lines, const Watched& watched, TopView& view, ScreenSize size) {
    if (watched.partition.single) return add(lines, size.columns, "a station alone has its log on stderr");
    if (watched.log.empty()) return add(lines, size.columns, "nothing yet");
    const auto room = size.rows > lines.size() + 1 ? size.rows - lines.size() - 1 : 1;
    const auto all = watched.log.size();
    view.scrolled = std::min(view.scrolled, all > room ? all - room : 0);
    const auto end = all - view.scrolled;
    for (std::size_t i = end > room ? end - room : 0; i < end; ++i) {
        const auto& line = watched.log[i];
        const auto when = WallTime{std::chrono::seconds{static_cast<std::int64_t>(std::clamp(line.time, 0.0, 1e11))}};
        add(lines, size.columns, clock_text(when) + " " + screen_cell(line.station, name_columns) + " " + line.text);
    }
}

void add_help(Lines& lines, std::size_t columns) {
    for (const auto* text :
         {"", "  up, down     choose a station, or scroll",
          "  enter        open it: its ledger, counters, alarms, disks", "  esc          back",
          "  s            sort: as in the partition file, rate, in hand, name, trouble",
          "  a            alarms                 l   log", "  ?            this page              q   quit", "",
          "  !            the station is gone, does not answer, or has alarms; its last",
          "               transition failed", "  rate/s       what it received a second, over the last 3 s",
          "  in hand      received, and neither passed on nor rejected: where much is",
          "               in hand, look at the station behind it", "",
          "  Alarms are acknowledged with weir alarms, or at the port of run control.",
          "  A page of its own for pipes: weir top --once. All of it: docs/apps/top.md."})
        add(lines, columns, text);
}

std::string keys_of(const TopView& view) {
    using enum TopView::Page;
    switch (view.page) {
        case partition: return fmt::format(" q quit  s sort: {}  enter open  a alarms  l log  ? help", name(view.sort));
        case station:
        case alarms:
        case log: return " q quit  esc back  up, down scroll  a alarms  l log  ? help";
        case help: return " q quit  esc back";
    }
    return {};
}

}  // namespace

std::string_view name(TopSort sort) noexcept {
    switch (sort) {
        case TopSort::partition: return "file";
        case TopSort::rate: return "rate";
        case TopSort::in_hand: return "in hand";
        case TopSort::name: return "name";
        case TopSort::trouble: return "trouble";
    }
    return "";
}

std::vector<const StationPicture*> sorted_stations(const PartitionPicture& partition, TopSort sort) {
    std::vector<const StationPicture*> stations;
    for (const auto& station : partition.stations) stations.push_back(&station);
    const auto by = [&](const auto& before) {
        std::ranges::sort(stations, [&](const auto* a, const auto* b) {  // of two alike the one that stands first
            return before(*a, *b) || (!before(*b, *a) && a < b);
        });
    };
    switch (sort) {
        case TopSort::partition: break;
        case TopSort::rate: by([](const auto& a, const auto& b) { return a.rate > b.rate; }); break;
        case TopSort::in_hand: by([](const auto& a, const auto& b) { return a.in_hand > b.in_hand; }); break;
        case TopSort::name: by([](const auto& a, const auto& b) { return a.name < b.name; }); break;
        case TopSort::trouble: by([](const auto& a, const auto& b) { return a.in_trouble() > b.in_trouble(); }); break;
    }
    return stations;
}

std::vector<ScreenLine> top_page(const Watched& watched, TopView& view, ScreenSize size, SteadyTime now) {
    using enum TopView::Page;
    Lines lines;
    add_head(lines, watched, size.columns);
    add_staleness(lines, watched, size.columns, now);
    const auto& stations = watched.partition.stations;
    if (view.selected.empty() && !stations.empty())
        view.selected = sorted_stations(watched.partition, view.sort)[0]->name;
    if (view.page == partition) {
        add_summary(lines, watched, size.columns);
        add_alarm_line(lines, watched, size.columns);
        add_stations(lines, watched, view, size);
    } else if (view.page == station) {
        const auto found = std::ranges::find(stations, view.selected, &StationPicture::name);
        if (found == stations.end()) add(lines, size.columns, fmt::format("there is no station {} now", view.selected));
        else add_scrolled(lines, station_page(*found, watched, size.columns), view.scrolled, size.rows);
    } else if (view.page == alarms) {
        Lines body;
        if (watched.alarms.empty()) add(body, size.columns, "no alarms");
        for (const auto& alarm : watched.alarms) add_alarm(body, alarm, size.columns);
        add_scrolled(lines, std::move(body), view.scrolled, size.rows);
    } else if (view.page == log) {
        add_log(lines, watched, view, size);
    } else {
        add_help(lines, size.columns);
    }
    lines.resize(size.rows > 0 ? size.rows - 1 : 0);
    lines.push_back({screen_cell(keys_of(view), size.columns), reverse});
    return lines;
}

std::vector<ScreenLine> whole_page(const Watched& watched, std::size_t columns, SteadyTime now) {
    Lines lines;
    add_head(lines, watched, columns);
    lines.back().style = plain;
    add_staleness(lines, watched, columns, now);
    add_summary(lines, watched, columns);
    const bool hosts = has_hosts(watched.partition);
    add(lines, columns, "");
    add(lines, columns, table_head(hosts, columns));
    for (const auto& station : watched.partition.stations)
        lines.push_back({station_row(station, watched, hosts, columns), plain});
    if (!watched.alarms.empty()) add(lines, columns, "");
    for (const auto& alarm : watched.alarms) add_alarm(lines, alarm, columns);
    return lines;
}

}  // namespace weir::app
