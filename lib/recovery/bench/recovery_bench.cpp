// SPDX-License-Identifier: Apache-2.0
// A recorder's start after a crash, by the bytes that were open: recovery of the files, and what a continued
// run must know of its senders. The journal vouches for every event, so the time goes with their number and
// not with their size.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <stdexcept>

#include "../test/long_recording.hpp"
#include "weir/catalogue/catalogue_place.hpp"
#include "weir/catalogue/sqlite_catalogue.hpp"
#include "weir/recovery/recovery.hpp"
#include "weir/recovery/run_holdings.hpp"

namespace {

using namespace weir;
using namespace weir::recovery;

void recovery_of_gigabytes(benchmark::State& state) {
    LongRecording recording;
    recording.files = static_cast<std::uint64_t>(state.range(0)) / 4;
    const SystemClock clock;
    for (auto _ : state) {
        state.PauseTiming();
        std::string pattern = (std::filesystem::temp_directory_path() / "weir-recovery-XXXXXX").string();
        const std::filesystem::path directory = ::mkdtemp(pattern.data());
        if (const auto made = make_dead_recorder(directory, recording); !made)
            throw std::runtime_error(made.error().message());
        auto catalogue = catalogue::open_sqlite_catalogue(catalogue::catalogue_path(directory)).value();
        catalogue::RunStart run;
        run.run = recording.run;
        run.recorder = "weir";
        run.mode = "receipt";
        run.at = clock.wall();
        if (const auto opened = catalogue->open_run(run); !opened) throw std::runtime_error(opened.error().message());
        state.ResumeTiming();

        const auto recovered = recover_and_record(directory, "weir", *catalogue, clock);
        if (!recovered) throw std::runtime_error(recovered.error().message());
        if (!recovered->failed.empty()) throw std::runtime_error(recovered->failed.front().message());
        if (recovered->files.size() != recording.files) throw std::runtime_error("not everything was recovered");
        const auto holdings = run_holdings(recording.run, {&directory, 1}, *catalogue, "weir");
        if (!holdings || holdings->durable.size() != recording.sessions)
            throw std::runtime_error("not every sender is known");

        state.PauseTiming();
        catalogue.reset();
        std::filesystem::remove_all(directory);
        state.ResumeTiming();
    }
    state.counters["events"] = static_cast<double>(recording.files * recording.events);
}
BENCHMARK(recovery_of_gigabytes)->Arg(4)->Arg(20)->Arg(100)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
