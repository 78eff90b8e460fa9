// SPDX-License-Identifier: Apache-2.0
#include "parallel/parallel.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "figures/memory_limits.hpp"
#include "figures/other_core.hpp"
#include "figures/rows.hpp"
#include "figures/thread_timer.hpp"
#include "parallel/parallel_figures.hpp"
#include "weir/base/cpu.hpp"
#include "weir/checksum/adler32.hpp"
#include "weir/checksum/parallel_adler32.hpp"

namespace weir::app {
namespace {

using namespace checksum;

constexpr std::array<std::size_t, 10> sizes{1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 1048576};
constexpr std::size_t handover_size = 16384;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class Bench {
public:
    Bench(const ParallelBenchOptions& options, unsigned threads)
        : options_(options), threads_(threads), memory_(sizes.back() + handover_size) {
        const auto cpus = cpu_topology();
        stay_on(cpus.front().number);
        for (std::size_t i = 1; i < cpus.size(); ++i) others_.push_back(cpus[i].number);
    }

    /// What no hand-over can beat: a cache line goes to another core, and one comes back.
    void round_trips() {
        if (others_.empty()) return;
        struct alignas(64) Line {
            std::atomic<std::uint64_t> value{0};
        } there, back;
        const std::jthread other([&, cpu = others_.front()](const std::stop_token& stop) {
            stay_on(cpu);
            for (std::uint64_t i = 1; !stop.stop_requested(); ++i) {
                while (there.value.load(std::memory_order_acquire) != i)
                    if (stop.stop_requested()) return;
                back.value.store(i, std::memory_order_release);
            }
        });
        std::vector<double> trips;
        for (std::uint64_t i = 1; i <= options_.repetitions * 40; ++i) {
            const double begin = now();
            there.value.store(i, std::memory_order_release);
            while (back.value.load(std::memory_order_acquire) != i) {
            }
            trips.push_back((now() - begin) * 1e9);
        }
        std::ranges::sort(trips);
        const double p99 = trips[trips.size() * 99 / 100];
        const auto add = [&](const char* quantile, Spread value) {
            rows_.push_back({.name = "hand-over",
                             .peer = true,
                             .parameters = {{"quantile", quantile}, {"scheme", "limit: a cache line there and back"}},
                             .value = value,
                             .unit = "ns"});
        };
        add("median", spread_of(trips));
        add("p99", {p99, p99, p99, trips.size()});
    }

    void handovers() {
        for (const auto scheme : {Scheme::thread_per_chunk, Scheme::condition_both_ways, Scheme::condition_then_spin,
                                  Scheme::spin_then_sleep}) {
            auto split = make(scheme, AdlerKernel::zlib, 2);
            auto alone = make(scheme, AdlerKernel::zlib, 1);
            const auto data = ConstData(memory_.data()).first(handover_size);
            std::vector<double> together, single;
            for (std::size_t i = 0; i < options_.repetitions * 4; ++i) {
                single.push_back(seconds(*alone, data));
                together.push_back(seconds(*split, data));
            }
            // Two halves side by side take half of the time; what it takes longer is the hand-over.
            const double half = spread_of(single).median / 2;
            std::ranges::sort(together);
            for (auto& t : together) t = (t - half) * 1e9;
            auto spread = spread_of(together);
            rows_.push_back(row("hand-over", scheme, {{"quantile", "median"}}, spread));
            const double p99 = together[together.size() * 99 / 100];
            rows_.push_back(row("hand-over", scheme, {{"quantile", "p99"}}, {p99, p99, p99, together.size()}));
        }
    }

    void speedups() {
        for (const auto kernel : {AdlerKernel::zlib, AdlerKernel::ours}) {
            for (const bool written : {false, true}) {
                for (unsigned threads = 2; threads <= threads_; ++threads) speedup(kernel, written, threads);
            }
        }
    }

    void price_of_off() {
        const auto data = ConstData(memory_.data()).first(64);
        ParallelAdler32 off({});
        ParallelOptions below_options;
        below_options.threads = 1;
        below_options.cutoff = 4096;
        ParallelAdler32 below(below_options);
        std::vector<double> plain, switched_off, below_cutoff;
        std::uint32_t value = 1;
        for (std::size_t i = 0; i < options_.repetitions / 10 + 3; ++i) {
            plain.push_back(1e9 * seconds_of([&] { value = adler32(data, value), keep(value); }));
            switched_off.push_back(1e9 * seconds_of([&] { value = off(data, value), keep(value); }));
            below_cutoff.push_back(1e9 * seconds_of([&] { value = below(data, value), keep(value); }));
        }
        const auto add = [&](const char* how, const std::vector<double>& values) {
            rows_.push_back({.name = "call of 64 bytes",
                             .peer = false,
                             .parameters = {{"how", how}},
                             .value = spread_of(values),
                             .unit = "ns"});
        };
        add("plain", plain);
        add("switched off", switched_off);
        add("below the cutoff", below_cutoff);
    }

    [[nodiscard]] const std::vector<BenchRow>& rows() const noexcept { return rows_; }

private:
    [[nodiscard]] std::unique_ptr<ParallelAdler32> make(Scheme scheme, AdlerKernel kernel, unsigned threads) const {
        ParallelOptions options;
        options.threads = threads - 1;
        options.cutoff = 1;  // always split: from where it wins is what is to be found
        options.scheme = scheme;
        options.kernel = kernel;
        options.pin = true;
        options.cpus = others_;
        if (threads == 1) {  // the same call, never split
            options.threads = 1;
            options.cutoff = ParallelOptions::never;
        }
        return std::make_unique<ParallelAdler32>(options);
    }

    static double seconds(ParallelAdler32& sum, ConstData data) {
        const double begin = now();
        auto value = sum(data, 1);
        keep(value);
        return now() - begin;
    }

    void speedup(AdlerKernel kernel, bool written, unsigned threads) {
        auto alone = make(Scheme::spin_then_sleep, kernel, 1);
        auto split = make(Scheme::spin_then_sleep, kernel, threads);
        std::unique_ptr<OtherCore> writer;
        if (written && !others_.empty()) writer = std::make_unique<OtherCore>(others_.back());
        std::size_t cutoff = 0;
        for (const auto size : sizes) {
            const auto data = memory_.data().first(size);
            std::vector<double> ratios;
            double alone_ns = 0;
            // Many short batches: a neighbour who takes a core spoils one of them only.
            const std::size_t batches = 31;
            std::vector<double> alone_all;
            for (std::size_t batch = 0; batch < batches; ++batch) {
                std::vector<double> single, together;
                const auto calls = options_.repetitions / batches + 2;
                for (std::size_t i = 0; i < calls; ++i) {
                    if (writer) writer->write(data);
                    single.push_back(seconds(*alone, data));
                }
                for (std::size_t i = 0; i < calls; ++i) {
                    if (writer) writer->write(data);
                    // Its workers are awake then: while one thread summed alone, or another wrote, they fell asleep.
                    if (writer || i == 0)
                        for (int woken = 0; woken < 3; ++woken)
                            static_cast<void>(seconds(*split, memory_.data().last(handover_size)));
                    together.push_back(seconds(*split, data));
                }
                ratios.push_back(spread_of(single).median / spread_of(together).median);
                alone_all.push_back(spread_of(single).median);
            }
            alone_ns = spread_of(alone_all).median * 1e9;
            const auto spread = spread_of(ratios);
            if (spread.median < 1) cutoff = 0;
            else if (cutoff == 0) cutoff = size;
            auto made = row("speed-up", Scheme::spin_then_sleep,
                            {{"kernel", name(kernel)},
                             {"threads", threads},
                             {"bytes", size},
                             {"data", written ? "written" : "hot"},
                             {"alone_ns", alone_ns}},
                            spread);
            made.unit = "times";
            rows_.push_back(std::move(made));
        }
        const auto at = static_cast<double>(cutoff);  // 0: splitting does not win at any size
        auto made = row("cutoff", Scheme::spin_then_sleep,
                        {{"kernel", name(kernel)}, {"threads", threads}, {"data", written ? "written" : "hot"}},
                        {at, at, at, 1});
        made.unit = "bytes";
        rows_.push_back(std::move(made));
    }

    static BenchRow row(const char* what, Scheme scheme, boost::json::object parameters, Spread value) {
        parameters["scheme"] = name(scheme);
        return {.name = what, .peer = false, .parameters = std::move(parameters), .value = value, .unit = "ns"};
    }

    const ParallelBenchOptions& options_;
    const unsigned threads_;
    NoisyMemory memory_;
    std::vector<int> others_;
    std::vector<BenchRow> rows_;
};

}  // namespace

int run_bench_parallel(const ParallelBenchOptions& options) {
    const auto machine = Machine::here();
    const unsigned threads = options.threads_max > 0 ? options.threads_max : machine.cores;
    if (threads < 2 || threads > ParallelOptions::threads_max || options.repetitions < 31) {
        fmt::print(stderr,
                   "weir bench: --threads-max must be 2 to {} ({} cores are here) and --repetitions 31 at least\n",
                   ParallelOptions::threads_max, machine.cores);
        return 2;
    }
    Bench bench(options, threads);
    bench.price_of_off();
    bench.round_trips();
    bench.handovers();
    bench.speedups();
    if (options.json) {
        fmt::print("{}\n", boost::json::serialize(bench_document("parallel", machine, bench.rows(),
                                                                 {{"repetitions", options.repetitions}})));
    } else {
        print_machine(machine);
        print_parallel_rows(bench.rows());
    }
    if (options.plot.empty()) return 0;
    if (auto drawn = draw_parallel_rows(options.plot, bench.rows(), machine); !drawn) {
        fmt::print(stderr, "weir bench: {}\n", drawn.error().message());
        return drawn.error().code == Errc::usage ? 2 : 1;
    }
    if (!options.json) fmt::print("drawn: {}\n", options.plot);
    return 0;
}

}  // namespace weir::app
