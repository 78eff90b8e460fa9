// SPDX-License-Identifier: Apache-2.0
#include "readout/readout_built.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "figures/thread_timer.hpp"
#include "readout/board/client_board.hpp"
#include "readout/board/datagram_board.hpp"
#include "readout/board/front_end.hpp"
#include "readout/chain/built_chain.hpp"
#include "readout/measured/input_measure.hpp"
#include "readout/measured/worker_seconds.hpp"
#include "readout/plugin/readout_plugins.hpp"

namespace weir::app {
namespace {

/// So many fragments may a board that nothing holds back be ahead of what is built: its trigger unit is busy then.
constexpr std::uint64_t datagrams_ahead = 2048;

/// The fragments of an event are of the same size, and all of one readout.
struct Shape {
    std::uint32_t fragment_size, sources;
};
constexpr std::array<Shape, 3> shapes{{{1000, 1}, {1000, 12}, {10'000, 1}}};

/// Of one run.
struct BuiltFigures {
    double rate = 0;                      // fragments/s
    double incomplete = 0;                // of the events
    double cores = 0;                     // processors that all stages together used
    std::map<std::string, double> cpu{};  // by stage, s a fragment
};

double process_seconds() {
    timespec used{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

std::vector<SourceId> sources_of(std::uint32_t count) {
    std::vector<SourceId> sources;
    for (std::uint32_t i = 0; i < count; ++i) sources.push_back(SourceId{number(input_source) + i});
    return sources;
}

/// What brings the fragments of a run, beside a plug-in.
class Board {
public:
    [[nodiscard]] static Result<Board> start(std::string_view input, BuiltChain& chain, const Shape& shape) {
        Board board;
        auto counters = chain.readout().status().counters;
        const FrontEndOptions options{
            .source = input_source, .sources = shape.sources, .fragment_size = shape.fragment_size};
        const auto port = static_cast<std::uint16_t>(counters["input_port"]);
        if (input == "tcp") {
            board.tcp_ = std::make_unique<FrontEnd>(WEIR_TRY(FrontEnd::connect(port)), options);
        } else if (input == "client library") {
            board.client_ = WEIR_TRY(ClientBoard::start(port, options));
        } else if (input == "udp") {
            const auto udp_port = static_cast<std::uint16_t>(counters["input_udp_port"]);
            board.udp_ = std::make_unique<DatagramBoard>(
                WEIR_TRY(DatagramBoard::connect(udp_port)),
                DatagramBoardOptions{
                    .source = input_source,
                    .sources = shape.sources,
                    .fragment_size = shape.fragment_size,
                    .sent_max = [&chain, &shape] { return chain.built() * shape.sources + datagrams_ahead; }});
        }
        return board;
    }
    /// Why it ended by itself.
    [[nodiscard]] std::optional<Error> failure() const {
        if (tcp_) return tcp_->failure();
        return client_ ? client_->failure() : std::nullopt;
    }

private:
    std::unique_ptr<FrontEnd> tcp_;
    std::unique_ptr<ClientBoard> client_;
    std::unique_ptr<DatagramBoard> udp_;
};

readout::ReadoutStationOptions readout_of(std::string_view input, const Shape& shape) {
    auto sources = sources_of(shape.sources);
    if (input.starts_with("plug-in")) return plugin_readout(input, shape.fragment_size, std::move(sources));
    readout::ReadoutStationOptions options{.feed = readout::FeedKind::network, .sources = std::move(sources)};
    if (input == "udp") {
        options.datagrams.emplace();
    } else {
        options.input.emplace();
    }
    return options;
}

struct Look {
    SteadyTime at{};
    std::uint64_t built = 0;
    double incomplete = 0;
    std::map<std::string, double> processor{};  // by stage, s
};

/// "sender" is what this process does beside the stations, and its workers.
Look look_at(const BuiltChain& chain, const Clock& clock) {
    Look now{.at = clock.now(), .built = chain.built(), .incomplete = chain.incomplete()};
    double& sender = now.processor["sender"];
    sender = process_seconds() - thread_seconds() + worker_seconds();
    for (const auto& times : chain.times()) {
        now.processor[times.stage] += times.processor;
        now.processor["sender"] -= times.processor;
    }
    return now;
}

BuiltFigures between(const Look& before, const Look& after, std::uint32_t sources) {
    const auto events = static_cast<double>(after.built - before.built);
    const auto fragments = std::max(events * sources, 1.0);
    const auto seconds = std::chrono::duration<double>(after.at - before.at).count();
    BuiltFigures figures{.rate = events * sources / seconds,
                         .incomplete = std::max(after.incomplete - before.incomplete, 0.0) / std::max(events, 1.0)};
    for (const auto& [stage, processor] : after.processor) {
        const auto known = before.processor.find(stage);
        const auto used = std::max(processor - (known == before.processor.end() ? 0 : known->second), 0.0);
        figures.cpu[stage] = used / fragments;
        figures.cores += used / seconds;
    }
    return figures;
}

Result<BuiltFigures> measure_built(std::string_view input, const Shape& shape, std::chrono::milliseconds time) {
    const SystemClock clock;
    const auto chain = WEIR_TRY(BuiltChain::start(readout_of(input, shape)));
    const auto board = WEIR_TRY(Board::start(input, *chain, shape));
    const auto begun = chain->built();
    // On a machine with other work it can take long until the first events are built.
    for (int looks = 0; looks < 1000 && chain->built() <= begun; ++looks)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(time / 4);  // buffers are cold
    const auto before = look_at(*chain, clock);
    for (int looks = 0; looks == 0 || (looks < 100 && chain->built() <= before.built); ++looks)
        std::this_thread::sleep_for(time);
    auto figures = between(before, look_at(*chain, clock), shape.sources);
    if (const auto failure = board.failure()) return std::unexpected(*failure);
    WEIR_TRY(chain->finish());  // while the board goes on: what is asked for comes
    return figures;
}

struct Case {
    const char* input;
    Shape shape;
    std::vector<double> rates{}, incomplete{}, cores{};
    std::map<std::string, std::vector<double>> cpu{};
};

std::vector<Case> cases_of(const ReadoutBenchOptions& options) {
    std::vector<const char*> inputs{"tcp", "client library", "udp", "plug-in", "plug-in in a process"};
    if (has_python()) {
        inputs.push_back("plug-in in Python");
    } else {
        fmt::print(stderr, "built: there is no Python, so plug-ins in Python are NOT MEASURED\n");
    }
    std::vector<Case> cases;
    for (const auto& shape : shapes) {
        if (options.quick && shape.sources == 1) continue;
        for (const auto* input : inputs)
            if (options.measures(input)) cases.push_back({.input = input, .shape = shape});
    }
    return cases;
}

void add_rows(const Case& one, std::vector<BenchRow>& rows) {
    const boost::json::object parameters{
        {"input", one.input}, {"fragment_size", one.shape.fragment_size}, {"sources", one.shape.sources}};
    const auto add = [&](const char* name, const std::vector<double>& values, const char* unit,
                         const std::string& stage = {}) {
        auto all = parameters;
        if (!stage.empty()) all["stage"] = stage;
        rows.push_back(
            {.name = name, .peer = false, .parameters = std::move(all), .value = spread_of(values), .unit = unit});
    };
    add("input_built_rate", one.rates, "fragments/s");
    add("input_built_incomplete", one.incomplete, "of the events");
    add("input_built_cores", one.cores, "processors");
    const std::vector<double>* most = nullptr;
    std::string limiting;
    for (const auto& [stage, cpu] : one.cpu) {
        add("input_built_cpu", cpu, "s/fragment", stage);
        if (most != nullptr && spread_of(cpu).median <= spread_of(*most).median) continue;
        most = &cpu;
        limiting = stage;
    }
    std::vector<double> shares;
    for (std::size_t run = 0; run < one.rates.size(); ++run) shares.push_back((*most)[run] * one.rates[run]);
    add("input_limiting_stage", shares, "of a processor", limiting);
}

}  // namespace

Result<std::vector<BenchRow>> built_rows(const ReadoutBenchOptions& options) {
    auto cases = cases_of(options);
    for (std::size_t repetition = 0; repetition < options.repetitions; ++repetition) {
        for (auto& one : cases) {
            const auto figures = WEIR_TRY(measure_built(one.input, one.shape, options.build_time));
            one.rates.push_back(figures.rate);
            one.incomplete.push_back(figures.incomplete);
            one.cores.push_back(figures.cores);
            for (const auto& [stage, cpu] : figures.cpu) one.cpu[stage].push_back(cpu);
        }
        if (!options.json) fmt::print(stderr, "built: round {} of {}\n", repetition + 1, options.repetitions);
    }
    std::vector<BenchRow> rows;
    for (const auto& one : cases) add_rows(one, rows);
    return rows;
}

}  // namespace weir::app
