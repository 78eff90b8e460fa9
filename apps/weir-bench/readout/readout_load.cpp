// SPDX-License-Identifier: Apache-2.0
#include "readout/readout_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <thread>

#include "readout/readout_asker.hpp"
#include "weir/base/named_thread.hpp"
#include "weir/readout/readout_station.hpp"

namespace weir::app {
namespace {

constexpr wire::StationId readout_id{1}, asker_id{2};
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

double processor_seconds(const ThreadAccounts& accounts) {
    double seconds = 0;
    for (const auto& times : accounts.times())
        if (times.thread != "bench") seconds += std::chrono::duration<double>(times.processor).count();
    return seconds;
}

Result<LoadFigures> measure(const LoadCase& what, std::chrono::milliseconds time) {
    const SystemClock clock;
    readout::ReadoutStationOptions options{.id = readout_id};
    options.handlers.handlers = what.handlers;
    options.loop.endpoint.self = readout_id;
    options.direct = what.direct;
    options.store.events_max = 8192;
    ThreadAccounts accounts;  // the threads of the readout enter these
    const ThreadAccounts::Entry entry(accounts, "bench");
    readout::ReadoutStation station(options, {}, clock);
    WEIR_TRY(station.configure());

    memory::BufferPool messages(64_MiB);
    messaging::MessageLoopOptions loop_options;
    loop_options.endpoint.self = asker_id;
    loop_options.endpoint.epoch = wire::Epoch{1};
    auto loop = WEIR_TRY(messaging::MessageLoop::open(loop_options, messages, clock));
    const auto readout_address = WEIR_TRY(transport::parse_host_port(station.self().dataflow));
    WEIR_TRY(loop->set_peers(
        {{.id = readout_id, .address = readout_address, .link = messaging::LinkKind::udp, .watched = true}}));
    Peer asker_peer{
        .name = "asker", .kind = StationKind::assign, .id = asker_id, .dataflow = {}, .events = {}, .sources = {}};
    asker_peer.dataflow = fmt::format("127.0.0.1:{}", loop->port());
    WEIR_TRY(station.connect({asker_peer}));
    WEIR_TRY(station.start(RunNumber{1}));

    AskerOptions asker_options{.readout = readout_id, .sources = station.self().sources, .rate = what.rate};
    if (what.rate <= 0) asker_options.outstanding_max = 256;  // enough to keep it busy; more would only wait
    ReadoutAsker asker(loop->endpoint(), asker_options);
    NamedThread asking(nullptr, "asker", [&](const std::stop_token& stop) { loop->run(stop, asker); });
    const auto on_loop = [&](const std::function<void()>& work) {
        std::promise<void> done;
        loop->call([&] {
            work();
            done.set_value();
        });
        done.get_future().wait();
    };
    on_loop([&] {
        loop->endpoint().set_run(RunNumber{1});
        asker.begin(clock.now());
    });
    std::this_thread::sleep_for(time / 10);  // the first requests meet a cold readout
    const auto drops_before = station.status().counters["kernel_drops"];
    on_loop([&] { asker.begin(clock.now()); });
    const auto cpu_before = processor_seconds(accounts);
    const auto began = clock.now();
    std::this_thread::sleep_for(time);
    LoadFigures figures;
    AskerFigures asked;
    on_loop([&] { asked = asker.figures(); });
    const auto seconds = std::chrono::duration<double>(clock.now() - began).count();
    figures.readout_cores = (processor_seconds(accounts) - cpu_before) / seconds;
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
    WEIR_TRY(station.stop(std::chrono::seconds(5)));
    const auto ledger = station.status().ledger;
    if (!ledger.balances() || ledger.in_hand != 0)
        return fail(Errc::corrupt,
                    fmt::format("the readout's ledger does not balance: received {}, stored {}, in hand {}",
                                ledger.received, ledger.stored, ledger.in_hand));
    WEIR_TRY(station.disconnect());
    WEIR_TRY(station.unconfigure());
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
