// SPDX-License-Identifier: Apache-2.0
// weir top: a partition, or one station, live in a terminal. Reads, and changes nothing.
#include <algorithm>
#include <memory>

#include "cli/output.hpp"
#include "cli/process/signals.hpp"
#include "cli/terminal/terminal.hpp"
#include "watch/commands.hpp"
#include "watch/top/top_pages.hpp"
#include "watch/watch.hpp"
#include "weir/base/system_clock.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr const char* weir_top = "weir top";
constexpr auto redrawn_every = 250ms;
constexpr std::size_t once_columns = 80;
constexpr auto rates_need = 1'100ms;  // between two looks, of --once

struct TopOptions {
    RunAddressOptions run{};
    bool once = false;
    bool json = false;
};

int fail_to_watch(const Error& error) {
    return error.code == Errc::refused ? fail_missing(weir_top, error.message()) : fail_with(weir_top, error);
}

json::value json_of(const Watched& watched) {
    const auto& p = watched.partition;
    json::array stations;
    for (const auto& station : p.stations)
        stations.push_back({{"name", json_text(station.name)},
                            {"kind", json_text(station.kind)},
                            {"state", json_text(station.state)},
                            {"host", json_text(station.host)},
                            {"rate", station.rate},
                            {"silent_seconds", station.silent_seconds},
                            {"in_hand", station.in_hand},
                            {"trouble", station.in_trouble()}});
    json::object rates;
    if (watched.rates)
        rates = {{"accepted", watched.rates->accepted},
                 {"rejected", watched.rates->rejected},
                 {"built", watched.rates->built},
                 {"recorded", watched.rates->recorded},
                 {"bytes", watched.rates->bytes}};
    return json::object{{"name", json_text(p.name)},
                        {"state", json_text(p.state)},
                        {"run", p.run},
                        {"rates", std::move(rates)},
                        {"stations", std::move(stations)},
                        {"alarms", std::ranges::count(watched.alarms, true, &AlarmPicture::latched)}};
}

/// Two looks, because a rate needs two.
int run_once(const TopOptions& options) {
    const Signals signals;
    const auto& clock = system_clock();
    const auto watch = Watch::start(options.run, clock);
    if (!watch) return fail_to_watch(watch.error());
    const auto begin = clock.now();
    std::optional<SteadyTime> first;
    while (clock.now() - begin < 10s) {
        (*watch)->step();
        const auto& seen = (*watch)->now().seen;
        if (!first) first = seen;
        if (first && seen != first && (*watch)->settled()) break;
        if (!first && !(*watch)->now().trouble.empty()) break;
        if (Signals::pending(20ms)) return exit_bad;
    }
    const auto& watched = (*watch)->now();
    if (!watched.seen)
        return fail_with(weir_top,
                         Error{Errc::io, 0, watched.trouble.empty() ? "no answer within 10 s" : watched.trouble});
    if (options.json) {
        print_json(json_of(watched));
    } else {
        for (const auto& line : whole_page(watched, once_columns, clock.now())) {
            auto text = line.text;
            text.erase(text.find_last_not_of(' ') + 1);
            print("{}\n", text);
        }
    }
    return exit_good;
}

/// False: quit.
bool obey(const TerminalEvent& event, TopView& view, const PartitionPicture& shown, std::size_t rows) {
    using enum TopView::Page;
    const auto open = [&](TopView::Page page) {
        view.page = view.page == page ? TopView::Page::partition : page;
        view.scrolled = 0;
    };
    const auto choose = [&](std::ptrdiff_t by) {
        const auto stations = sorted_stations(shown, view.sort);
        if (stations.empty()) return;
        const auto found = std::ranges::find_if(stations, [&](const auto* s) { return s->name == view.selected; });
        const auto at = std::clamp<std::ptrdiff_t>((found == stations.end() ? 0 : found - stations.begin()) + by, 0,
                                                   static_cast<std::ptrdiff_t>(stations.size()) - 1);
        view.selected = stations[static_cast<std::size_t>(at)]->name;
    };
    const auto move = [&](std::ptrdiff_t by) {
        if (view.page == TopView::Page::partition) return choose(by);
        if (view.page == log) by = -by;
        view.scrolled =
            static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(view.scrolled) + by));
    };
    const auto page_rows = static_cast<std::ptrdiff_t>(std::max<std::size_t>(rows / 2, 1));
    constexpr std::ptrdiff_t everything = 1'000'000;
    switch (event.key) {
        case Key::up: move(-1); break;
        case Key::down: move(1); break;
        case Key::page_up: move(-page_rows); break;
        case Key::page_down: move(page_rows); break;
        case Key::home: move(-everything); break;
        case Key::end: move(everything); break;
        case Key::enter:
            if (view.page == TopView::Page::partition && !view.selected.empty()) open(station);
            break;
        case Key::escape:
            view.page = TopView::Page::partition;
            view.scrolled = 0;
            break;
        case Key::none: break;
        case Key::other:
            switch (event.letter) {
                case 'q': return false;
                case 's':
                    view.sort = static_cast<TopSort>((static_cast<int>(view.sort) + 1) % top_sorts);
                    view.scrolled = 0;
                    break;
                case 'a': open(alarms); break;
                case 'l': open(log); break;
                case '?':
                case 'h': open(help); break;
                case 'k': move(-1); break;
                case 'j': move(1); break;
                default: break;
            }
    }
    return true;
}

int run_top(const TopOptions& options) {
    if (options.once || options.json) return run_once(options);
    const auto& clock = system_clock();
    if (const auto found = find_run(options.run); !found)
        return fail_to_watch(found.error());  // before the screen is ours
    const auto terminal = Terminal::open();
    if (!terminal) return fail_usage(weir_top, terminal.error().context);
    auto watch = Watch::start(options.run, clock);
    if (!watch) return fail_to_watch(watch.error());
    TopView view;
    bool goes_on = true;
    while (goes_on) {
        (*watch)->want_log(view.page == TopView::Page::log);
        (*watch)->step();
        const auto size = (*terminal)->size();
        (*terminal)->draw(top_page((*watch)->now(), view, size, clock.now()));
        const auto event = (*terminal)->wait(redrawn_every);
        goes_on = !event.ended && obey(event, view, (*watch)->now().partition, size.rows);
    }
    return exit_good;
}

}  // namespace

void add_top(CLI::App& parent, Command& chosen) {
    auto options = std::make_shared<TopOptions>();
    auto& command = add_command(parent, group_stations, "top", "a partition or a station, live in the terminal",
                                "weir top --dir D");
    declare_run_address(command, options->run);
    add_flag(command, "--once", options->once, "prints one page as text and ends");
    add_json_flag(command, options->json);
    command.callback([options, &chosen] { chosen = [options] { return run_top(*options); }; });
}

}  // namespace weir::app
