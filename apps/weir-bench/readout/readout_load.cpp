// SPDX-License-Identifier: Apache-2.0
#include "readout/readout_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "readout/measured/measured_readout.hpp"
#include "readout/readout_asker.hpp"
#include "weir/base/named_thread.hpp"

namespace weir::app {
namespace {

constexpr double published_level2_rate = 24'000, published_build_rate = 3'000;

struct LoadCase {
    const char* load;  // "published", "all it can"
    double rate = 0;
    std::uint32_t handlers = 4;
    bool direct = true;
};

struct LoadFigures {
    double level2_rate = 0, building_rate = 0, gb_per_s = 0, readout_cores = 0, level2_p50 = 0, level2_p99 = 0;
    double re_requested = 0, behind = 0, kernel_drops = 0;  // of the events
};

Result<LoadFigures> measure(const LoadCase& what, std::chrono::milliseconds time) {
    const SystemClock clock;
    readout::ReadoutStationOptions options;
    options.handlers.handlers = what.handlers;
    options.direct = what.direct;
    options.store.events_max = 8192;
    const auto readout = WEIR_TRY(MeasuredReadout::start(std::move(options)));
    auto& station = readout->station();
    auto& loop = readout->loop();

    AskerOptions asker_options{
        .readout = MeasuredReadout::readout_id, .sources = station.self().sources, .rate = what.rate};
    if (what.rate <= 0) asker_options.outstanding_max = 256;  // enough to keep it busy; more would only wait
    ReadoutAsker asker(loop.endpoint(), asker_options);
    NamedThread asking(nullptr, "asker", [&](const std::stop_token& stop) { loop.run(stop, asker); });
    readout->on_loop([&] { asker.begin(clock.now()); });
    std::this_thread::sleep_for(time / 10);  // the first requests meet a cold readout
    const auto drops_before = station.status().counters["kernel_drops"];
    readout->on_loop([&] { asker.begin(clock.now()); });
    const auto cpu_before = readout->processor_seconds();
    const auto began = clock.now();
    std::this_thread::sleep_for(time);
    LoadFigures figures;
    AskerFigures asked;
    readout->on_loop([&] { asked = asker.figures(); });
    const auto seconds = std::chrono::duration<double>(clock.now() - began).count();
    figures.readout_cores = (readout->processor_seconds() - cpu_before) / seconds;
    figures.level2_rate = static_cast<double>(asked.level2) / seconds;
    figures.building_rate = static_cast<double>(asked.building) / seconds;
    figures.gb_per_s = static_cast<double>(asked.bytes) / seconds / 1e9;
    const auto events = static_cast<double>(std::max<std::uint64_t>(asked.level2, 1));
    figures.re_requested = static_cast<double>(asked.re_requested) / events;
    figures.behind = static_cast<double>(asked.behind) / (events + static_cast<double>(asked.behind));
    figures.kernel_drops = station.status().counters["kernel_drops"] - drops_before;
    std::ranges::sort(asked.level2_times);
    if (!asked.level2_times.empty()) {
        figures.level2_p50 = static_cast<double>(asked.level2_times[asked.level2_times.size() / 2]);
        figures.level2_p99 = static_cast<double>(asked.level2_times[asked.level2_times.size() * 99 / 100]);
    }
    asking.request_stop();
    asking.join();
    WEIR_TRY(readout->finish());
    return figures;
}

}  // namespace

Result<std::vector<BenchRow>> load_rows(const ReadoutBenchOptions& options) {
    std::vector<LoadCase> cases{{.load = "published", .rate = published_level2_rate},
                                {.load = "all it can"},
                                {.load = "all it can", .direct = false},
                                {.load = "all it can", .handlers = 0}};
    if (options.quick) cases.resize(2);
    static_assert(published_level2_rate / published_build_rate == 8);  // AskerOptions::events_per_build
    std::vector<std::vector<LoadFigures>> measured(cases.size());
    for (std::size_t repetition = 0; repetition < options.repetitions; ++repetition) {
        for (std::size_t i = 0; i < cases.size(); ++i) {
            auto figures = WEIR_TRY(measure(cases[i], options.load_time));
            measured[i].push_back(figures);
        }
        if (!options.json) fmt::print(stderr, "load: round {} of {}\n", repetition + 1, options.repetitions);
    }
    std::vector<BenchRow> rows;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const boost::json::object parameters{
            {"load", cases[i].load},
            {"handlers", cases[i].handlers},
            {"answers", cases[i].handlers == 0 || cases[i].direct ? "by the receiving thread" : "by handlers"}};
        const auto add = [&](const char* what, const char* unit, double LoadFigures::* member) {
            std::vector<double> values;
            for (const auto& figures : measured[i]) values.push_back(figures.*member);
            rows.push_back({.name = what,
                            .peer = false,
                            .parameters = parameters,
                            .value = spread_of(std::move(values)),
                            .unit = unit});
        };
        add("level2_rate", "requests/s", &LoadFigures::level2_rate);
        add("building_rate", "requests/s", &LoadFigures::building_rate);
        add("throughput", "GB/s", &LoadFigures::gb_per_s);
        add("readout_cores", "cores", &LoadFigures::readout_cores);
        add("level2_answer_p50", "s", &LoadFigures::level2_p50);
        add("level2_answer_p99", "s", &LoadFigures::level2_p99);
        add("asked_again", "ratio", &LoadFigures::re_requested);
        add("not_asked_in_time", "ratio", &LoadFigures::behind);
        add("kernel_drops", "datagrams", &LoadFigures::kernel_drops);
    }
    return rows;
}

}  // namespace weir::app
