// SPDX-License-Identifier: Apache-2.0
// How many files of 1 MiB a second a recorder records and closes: with one stream, and with 100 streams that each have
// 10 lumi blocks open. In the folder that WEIR_BENCH_DIRECTORY names, or that of temporary files.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "weir/delivery/sender.hpp"
#include "weir/recorder/recorder.hpp"

namespace {

using namespace weir;
using namespace weir::recorder;

std::filesystem::path own_directory() {
    const char* named = std::getenv("WEIR_BENCH_DIRECTORY");
    std::string pattern = ((named != nullptr ? std::filesystem::path(named) : std::filesystem::temp_directory_path()) /
                           "weir-closing-XXXXXX")
                              .string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a directory " + pattern);
    return pattern;
}

void files_of_1_mib(benchmark::State& state) {
    const auto streams = static_cast<std::uint32_t>(state.range(0)),
               blocks = static_cast<std::uint32_t>(state.range(1));
    const auto files = static_cast<std::uint32_t>(state.range(2));
    const std::vector<std::byte> payload(1 << 20, std::byte{0x5a});
    const SystemClock clock;
    std::uint64_t closed = 0;
    for (auto _ : state) {
        state.PauseTiming();
        const auto directory = own_directory();
        RecorderOptions options;
        options.directories = {directory};
        options.create_directories = true;
        options.run = RunNumber{1};
        options.file_size_max = 1_MiB;
        options.file_events_max = 1;
        options.streams_max = std::max(streams, 2U);
        options.lumi_blocks_open_max = blocks;
        auto recorder = Recorder::open(options, {}, clock);
        if (!recorder) throw std::runtime_error(recorder.error().message());
        (*recorder)->start();
        state.ResumeTiming();

        delivery::SenderOptions to;
        to.host = "127.0.0.1:" + std::to_string((*recorder)->port());
        to.name = "bench";
        to.run = *options.run;
        to.format = wire::EventFormat::opaque;
        auto sender = delivery::Sender::open(to).value();
        for (std::uint32_t n = 0; n < files; ++n) {
            const auto tag = parse_stream_key("physics_S" + std::to_string(n % streams)).value();
            if (const auto sent =
                    sender->send({GlobalEventId{n}, Level1Id{n}, LumiBlock{1 + n / streams % blocks}, {tag}}, payload);
                !sent)
                throw std::runtime_error(sent.error().message());
        }
        if (!sender->flush(std::chrono::minutes{10}).value()) throw std::runtime_error("not all events have an answer");
        if (const auto stopped = (*recorder)->stop(std::chrono::minutes{10}); !stopped)
            throw std::runtime_error(stopped.error().message());
        closed += (*recorder)->summary().files;

        state.PauseTiming();
        recorder->reset();
        std::filesystem::remove_all(directory);
        state.ResumeTiming();
    }
    state.counters["files/s"] = benchmark::Counter(static_cast<double>(closed), benchmark::Counter::kIsRate);
}
BENCHMARK(files_of_1_mib)
    ->Args({1, 1, 1000})
    ->Args({100, 10, 2000})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Iterations(1);

}  // namespace

BENCHMARK_MAIN();
