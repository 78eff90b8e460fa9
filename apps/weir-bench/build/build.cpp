// SPDX-License-Identifier: Apache-2.0
#include "build/build.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "build/build_figures.hpp"
#include "build/build_runs.hpp"
#include "build/shaped_line.hpp"
#include "figures/rows.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;

/// What one series measures: runs that differ in one thing, each repeated, all interleaved.
struct Measured {
    std::string name;
    bool peer = false;
    json::object parameters;
    std::function<Result<BuildResult>()> run;
    std::vector<BuildResult> results{};
};

constexpr std::size_t line_bytes_per_s = 125'000'000;

class Bench {
public:
    explicit Bench(const BuildBenchOptions& options) : options_(options) {}

    Result<> all() {
        const std::array<std::pair<const char*, void (Bench::*)()>, 6> plain{{{"size", &Bench::size},
                                                                              {"sources", &Bench::sources},
                                                                              {"loss", &Bench::loss},
                                                                              {"wakes", &Bench::wakes},
                                                                              {"output", &Bench::output},
                                                                              {"rate", &Bench::rate}}};
        for (const auto& [name, series] : plain) {
            if (wanted(name)) (this->*series)();
        }
        WEIR_TRY(measure());
        return wanted("line") ? line() : Result<>{};
    }
    [[nodiscard]] const std::vector<BenchRow>& rows() const noexcept { return rows_; }

private:
    [[nodiscard]] bool wanted(const char* name) const {
        return options_.series.empty() || std::ranges::find(options_.series, name) != options_.series.end();
    }
    [[nodiscard]] BuildRun usual() const {
        BuildRun run;
        run.duration = options_.quick ? 60ms : 500ms;
        return run;
    }
    void ours(const std::string& series, json::object parameters, const BuildRun& run) {
        parameters["implementation"] = "weir";
        todo_.push_back({series, false, std::move(parameters), [run] { return run_builder(run); }});
    }
    void limit(const std::string& series, json::object parameters, const BuildRun& run) {
        parameters["implementation"] = "limit: sockets";
        todo_.push_back({series, true, std::move(parameters), [run] { return run_sockets(run); }});
    }
    static json::object named(const BuildRun& run) {
        return {{"sources", run.farm.sources},
                {"fragment", run.farm.rob_size},
                {"event", run.farm.sources * run.farm.rob_size},
                {"datagram", run.farm.datagram_max}};
    }

    /// Figure 3: fragments of one frame, more and more of them; and fragments of many frames.
    void size() {
        for (const std::uint32_t sources :
             options_.quick ? std::vector<std::uint32_t>{50} : std::vector<std::uint32_t>{10, 50, 200, 700}) {
            auto run = usual();
            run.farm.sources = sources;
            run.farm.rob_size = 1360;  // with what stands around it, one frame
            run.farm.datagram_max = 1472;
            ours("size", named(run), run);
            limit("size", named(run), run);
        }
        for (const std::size_t fragment :
             options_.quick ? std::vector<std::size_t>{} : std::vector<std::size_t>{5000, 20'000, 60'000}) {
            auto run = usual();
            run.farm.sources = 50;
            run.farm.rob_size = fragment;
            run.farm.datagram_max = 1472;
            ours("size", named(run), run);
            limit("size", named(run), run);
        }
        auto run = usual();  // 1 MB of 200 sources
        ours("size", named(run), run);
        limit("size", named(run), run);
        todo_.push_back({"size",
                         true,
                         {{"implementation", "limit: one TCP connection"}, {"event", 1'000'000}},
                         [duration = run.duration] { return run_tcp(duration, 65'536); }});
    }
    void sources() {
        for (const std::uint32_t sources : options_.quick
                                               ? std::vector<std::uint32_t>{1, 100}
                                               : std::vector<std::uint32_t>{1, 4, 16, 64, 200, 400, 800, 1600}) {
            auto run = usual();
            run.farm.sources = sources;
            run.farm.rob_size = 1400;
            ours("sources", named(run), run);
            limit("sources", named(run), run);
        }
    }
    void loss() {
        for (const double lost :
             options_.quick ? std::vector<double>{0.0, 0.05} : std::vector<double>{0.0, 0.001, 0.01, 0.02, 0.05, 0.1}) {
            auto run = usual();
            run.farm.loss = lost;
            auto parameters = named(run);
            parameters["loss"] = lost;
            ours("loss", std::move(parameters), run);
        }
    }
    void wakes() {
        using messaging::InputThread;
        for (const auto& [name, input] :
             {std::pair{"one thread", InputThread::none}, std::pair{"per batch", InputThread::wake_per_batch},
              std::pair{"per fragment", InputThread::wake_per_datagram}}) {
            auto run = usual();
            run.farm.rob_size = 1400;
            run.input = input;
            auto parameters = named(run);
            parameters["wakes"] = name;
            ours("wakes", std::move(parameters), run);
        }
    }
    void output() {
        for (const bool output : {false, true}) {
            auto run = usual();
            run.output = output;
            auto parameters = named(run);
            parameters["output"] = output;
            ours("output", std::move(parameters), run);
        }
    }
    /// The published load of one builder: 1600 sources of 1.4 kB at 50 Hz.
    void rate() {
        auto run = usual();
        run.farm.sources = options_.quick ? 200 : 1600;
        run.farm.rob_size = 1400;
        run.rate_hz = 50;
        run.duration = options_.quick ? 100ms : 2000ms;
        auto parameters = named(run);
        parameters["rate_hz"] = run.rate_hz;
        ours("rate", std::move(parameters), run);
    }

    /// A line of 1 Gbit/s with the queue of a switch's port, with shaping and without.
    Result<> line() {
        auto laid = ShapedLine::lay("1gbit", Bytes{256 << 10});
        if (!laid) {
            fmt::print(stderr, "weir bench: NOT MEASURED: the line of 1 Gbit/s: {}\n", laid.error().message());
            return {};
        }
        for (const bool shaping : {true, false}) {
            auto run = usual();
            run.listen = ShapedLine::near_address();
            run.farm.address = ShapedLine::far_address();
            run.farm.network_namespace = laid->network_namespace();
            run.farm.datagram_max = 1472;
            run.shaping = shaping;
            run.events_in_hand = 16;
            run.window = Bytes{192 << 10};  // what the line's queue holds, and some in flight
            auto parameters = named(run);
            parameters["line"] = "1 Gbit/s";
            parameters["shaping"] = shaping;
            ours("line", parameters, run);
            if (shaping) limit("line", parameters, run);
        }
        return measure();
    }

    Result<> measure() {
        for (std::size_t repetition = 0; repetition < options_.repetitions; ++repetition) {
            for (auto& measured : todo_) {
                auto result = WEIR_TRY(measured.run());
                measured.results.push_back(result);
            }
        }
        for (auto& measured : todo_) add_rows(measured);
        todo_.clear();
        return {};
    }

    void add_rows(const Measured& measured) {
        const auto row = [&](const char* what, const char* unit, auto value) {
            std::vector<double> values;
            for (const auto& result : measured.results) values.push_back(value(result));
            auto parameters = measured.parameters;
            parameters["figure"] = what;
            rows_.push_back({.name = measured.name,
                             .peer = measured.peer,
                             .parameters = std::move(parameters),
                             .value = spread_of(values),
                             .unit = unit});
        };
        row("bandwidth", "GB/s", [](const BuildResult& r) { return r.gb_per_s(); });
        row("messages", "1/s", [](const BuildResult& r) { return r.messages_per_s(); });
        row("events", "1/s", [](const BuildResult& r) { return r.events / r.seconds; });
        row("processor", "CPU-s/GB",
            [](const BuildResult& r) { return r.bytes > 0 ? r.cpu_seconds / (r.bytes / 1e9) : 0; });
        if (measured.name == "line")
            row("of the line", "",
                [](const BuildResult& r) { return r.bytes / r.seconds / static_cast<double>(line_bytes_per_s); });
        if (measured.peer) return;
        row("asked again", "of what was asked",
            [](const BuildResult& r) { return r.asked > 0 ? r.re_requested / r.asked : 0; });
        row("lost ROBs", "", [](const BuildResult& r) { return r.robs_lost; });
        row("dropped by the kernel", "", [](const BuildResult& r) { return r.kernel_drops; });
        row("wakes", "of a message", [](const BuildResult& r) { return r.messages > 0 ? r.wakes / r.messages : 0; });
    }

    const BuildBenchOptions& options_;
    std::vector<Measured> todo_;
    std::vector<BenchRow> rows_;
};

}  // namespace

int run_bench_build(const BuildBenchOptions& options) {
    for (const auto& name : options.series) {
        static constexpr std::array known{"size", "sources", "loss", "wakes", "output", "line", "rate"};
        if (std::ranges::find(known, name) == known.end()) {
            fmt::print(stderr, "weir bench: there is no series \"{}\"; choose of {}\n", name, fmt::join(known, ", "));
            return 2;
        }
    }
    const auto machine = Machine::here();
    Bench bench(options);
    if (auto measured = bench.all(); !measured) {
        fmt::print(stderr, "weir bench: {}\n", measured.error().message());
        return 1;
    }
    if (options.json) {
        fmt::print("{}\n", json::serialize(
                               bench_document("build", machine, bench.rows(), {{"repetitions", options.repetitions}})));
    } else {
        print_machine(machine);
        print_build_rows(bench.rows());
    }
    if (options.plot.empty()) return 0;
    if (auto drawn = draw_build_rows(options.plot, bench.rows(), machine); !drawn) {
        fmt::print(stderr, "weir bench: {}\n", drawn.error().message());
        return drawn.error().code == Errc::usage ? 2 : 1;
    }
    if (!options.json) fmt::print("drawn: {}\n", options.plot);
    return 0;
}

}  // namespace weir::app
