// SPDX-License-Identifier: Apache-2.0
#include "record/record.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <thread>

#include "cli/process/child_process.hpp"
#include "figures/machine.hpp"
#include "figures/plot.hpp"
#include "record/record_figures.hpp"
#include "record/record_limits.hpp"
#include "record/tmpfs_medium.hpp"
#include "weir/base/cpu.hpp"
#include "weir/recorder/direct_io.hpp"
#include "weir/recorder/recorder.hpp"

namespace weir::app {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr RunNumber bench_run{1};

struct Measured {
    double gb_per_s = 0;
    double cpu_per_gb = 0;  // of the recorder (receiving side), user and system
    double cores = 0;       // used by it
};

struct Sent {
    std::uint64_t bytes = 0;
    double seconds = 0;
};

recorder::RecorderOptions recorder_options(const std::filesystem::path& directory, const RecordSeries& series) {
    recorder::RecorderOptions options;
    options.directories = {directory};
    options.create_directories = true;
    options.run = bench_run;
    options.mode = recorder::parse_mode(series.name).value_or(recorder::Mode::receipt);
    options.sync = series.name != "unsynced";
    options.parallel.threads = series.threads;
    options.parallel.kernel = checksum::AdlerKernel::zlib;  // as in the paper; `receipt` uses ours
    options.parallel.scheme = checksum::Scheme::condition_then_spin;
    options.parallel.pin = true;
    options.parallel.cutoff = small_event;
    options.disk_headroom = 32_MiB;  // that there is room is seen to before; a tmpfs has little more than this free
    return options;
}

Result<Sent> send(std::uint16_t port, std::uint64_t events, const RecordBenchOptions& options) {
    const auto weir = std::filesystem::path(ChildProcess::self()).parent_path() / "weir-whole";
    auto child = WEIR_TRY(ChildProcess::start(
        {weir.native(), "send", "--to", fmt::format("127.0.0.1:{}", port), "--profile", options.workload, "--events",
         std::to_string(events), "--connections", std::to_string(options.connections), "--seed",
         std::to_string(options.seed), "--run", std::to_string(number(bench_run)), "--json"},
        true));
    const auto status = child.wait();
    if (status.exit_code != 0)
        return fail(Errc::io, fmt::format("the senders failed (exit code {})", status.exit_code));
    boost::system::error_code error;
    const auto document = boost::json::parse(status.output, error);
    if (error) return fail(Errc::corrupt, "the senders did not answer with JSON");
    return Sent{document.at("bytes").to_number<std::uint64_t>(), document.at("seconds").to_number<double>()};
}

/// Everything of one measurement happens in a directory of its own, gone afterwards.
class ScratchDirectory {
public:
    explicit ScratchDirectory(const std::filesystem::path& parent) : path_(unique(parent)) {}
    ~ScratchDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    ScratchDirectory(const ScratchDirectory&) = delete;
    ScratchDirectory& operator=(const ScratchDirectory&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    static std::filesystem::path unique(const std::filesystem::path& parent) {
        auto pattern = (parent / "weir-bench-XXXXXX").native();
        return ::mkdtemp(pattern.data()) != nullptr ? pattern : (parent / "weir-bench").native();
    }
    const std::filesystem::path path_;
};

template <class Serve>
Result<Measured> with_senders(std::uint16_t port, std::uint64_t events, const RecordBenchOptions& options,
                              Serve&& finish) {
    const auto before = cpu_time();
    const auto sent = WEIR_TRY(send(port, events, options));
    // What is not yet written and synced when the senders have their answers belongs to the time as well.
    const auto sent_at = std::chrono::steady_clock::now();
    WEIR_TRY(finish());
    const std::chrono::duration<double> finishing = std::chrono::steady_clock::now() - sent_at;
    const std::chrono::duration<double> cpu = cpu_time() - before;
    const auto gigabytes = static_cast<double>(sent.bytes) / 1e9;
    const auto seconds = sent.seconds + finishing.count();
    return Measured{gigabytes / seconds, cpu.count() / gigabytes, cpu.count() / seconds};
}

struct WriteMachinery {
    recorder::RecorderOptions defaults;
    recorder::SegmentPool pool;
    std::unique_ptr<recorder::BlockWriter> writer;

    explicit WriteMachinery(bool direct) : pool(defaults.memory / 2, defaults.segment) {
        if (direct) {
            if (auto made = recorder::make_uring_writer(defaults.queue_depth, pool.arena())) writer = std::move(*made);
        }
        if (!writer) writer = recorder::make_thread_writer(defaults.write_threads);
    }
};

Result<Measured> measure_sink(std::uint64_t events, const RecordBenchOptions& options) {
    memory::BufferPool pool(recorder::RecorderOptions{}.memory / 2);
    DiscardSink sink;
    delivery::ReceiverOptions receiver_options;
    receiver_options.verify_payload = false;
    auto receiver = WEIR_TRY(delivery::Receiver::open(receiver_options, pool, sink));
    sink.connect(*receiver);
    receiver->start();
    return with_senders(receiver->port(), events, options,
                        [&]() -> Result<> { return receiver->stop(10s), Result<>{}; });
}

Result<Measured> measure_copy(std::uint64_t events, const RecordMedium& medium, const RecordBenchOptions& options) {
    const ScratchDirectory scratch(medium.directory);
    WriteMachinery machinery(medium.direct);
    memory::BufferPool pool(machinery.defaults.memory / 2);
    CopySink sink(scratch.path(), medium.direct, machinery.pool, *machinery.writer);
    delivery::ReceiverOptions receiver_options;
    receiver_options.verify_payload = false;
    auto receiver = WEIR_TRY(delivery::Receiver::open(receiver_options, pool, sink));
    sink.connect(*receiver);
    receiver->start();
    return with_senders(receiver->port(), events, options, [&] {
        receiver->stop(10s);
        return sink.finish();
    });
}

Result<Measured> measure_write(std::uint64_t bytes, const RecordMedium& medium) {
    const ScratchDirectory scratch(medium.directory);
    WriteMachinery machinery(medium.direct);
    auto file = WEIR_TRY(PlainFile::create(scratch.path() / "plain", medium.direct, machinery.pool, *machinery.writer));
    std::vector<std::byte> event(1'000'000);
    std::mt19937_64 random(7);
    for (auto& byte : event) byte = static_cast<std::byte>(random());
    const auto cpu_before = cpu_time();
    const auto begun = std::chrono::steady_clock::now();
    std::uint64_t written = 0;
    for (; written < bytes; written += event.size()) {
        if (!file->append(event)) break;
    }
    WEIR_TRY(file->finish());
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begun;
    const std::chrono::duration<double> cpu = cpu_time() - cpu_before;
    const auto gigabytes = static_cast<double>(written) / 1e9;
    return Measured{gigabytes / seconds.count(), cpu.count() / gigabytes, cpu.count() / seconds.count()};
}

Result<Measured> measure_recorder(std::uint64_t events, const RecordMedium& medium, const RecordSeries& series,
                                  const RecordBenchOptions& options) {
    const ScratchDirectory scratch(medium.directory);
    const SystemClock clock;
    auto opened = WEIR_TRY(recorder::Recorder::open(recorder_options(scratch.path(), series), {}, clock));
    auto& recorder = *opened;
    recorder.start();
    return with_senders(recorder.port(), events, options, [&] { return recorder.stop(30s); });
}

Result<Measured> measure(const RecordSeries& series, const RecordMedium& medium, std::uint64_t events,
                         std::uint64_t bytes, const RecordBenchOptions& options) {
    std::optional<TmpfsMedium::Measurement> pages;
    if (medium.tmpfs) pages.emplace(*medium.tmpfs);
    if (series.name == "sink") return measure_sink(events, options);
    if (series.name == "copy") return measure_copy(events, medium, options);
    if (series.name == "write") return measure_write(bytes, medium);
    return measure_recorder(events, medium, series, options);
}

std::vector<RecordSeries> series_of(const RecordBenchOptions& options, const std::vector<LogicalCpu>& cpus) {
    std::vector<RecordSeries> series{{"sink", "limit: receive and discard", 0, false, false},
                                     {"write", "limit: write the same bytes from memory", 0, false, false},
                                     {"copy", "limit: receive, copy, write", 0, false, false},
                                     {"off", "recorder without checksums", 0, false, true},
                                     {"receipt", "recorder, summed at receipt", 0, false, true},
                                     {"unsynced", "the same, acknowledged without sync", 0, false, true},
                                     {"original", "recorder, zlib adler32 in one thread a stream", 0, false, true}};
    const auto cores = static_cast<unsigned>(std::ranges::count(cpus, 0, &LogicalCpu::sibling));
    const auto most =
        options.checksum_threads_max > 0 ? options.checksum_threads_max : static_cast<unsigned>(cpus.size());
    for (unsigned n = 1; n <= most; n = n < 4 ? n + 1 : n * 2)
        series.push_back(
            {"parallel", fmt::format("the same, adler32 split over {} more threads", n), n, n > cores, true});
    return series;
}

Result<std::vector<RecordMedium>> media_of(const RecordBenchOptions& options) {
    std::vector<RecordMedium> media;
    for (const auto& text : options.media) {
        if (text == "tmpfs") {
            RecordMedium medium{"tmpfs", "/dev/shm", false, nullptr};
            auto mounted = TmpfsMedium::mount(options.bytes_per_run);
            if (mounted) {
                medium.tmpfs = std::move(*mounted);
                medium.directory = medium.tmpfs->directory();
            } else {
                fmt::print(stderr, "weir bench: {}: /dev/shm is used, its pages may not have been touched before\n",
                           mounted.error().message());
            }
            media.push_back(std::move(medium));
            continue;
        }
        const auto cut = text.find('=');
        if (cut == text.npos || cut == 0 || cut + 1 == text.size())
            return fail(
                Errc::usage,
                fmt::format("\"{}\" is not a medium; write tmpfs, or a name and a directory: disk=/data", text));
        RecordMedium medium{text.substr(0, cut), text.substr(cut + 1), false, nullptr};
        const ScratchDirectory scratch(medium.directory);
        const auto free = std::filesystem::space(medium.directory).available;
        if (free < options.bytes_per_run.count() * 3 / 2)
            return fail(
                Errc::usage,
                fmt::format("{} has {} free, a run needs {}; choose another directory or a smaller --bytes",
                            medium.directory.native(), human(Bytes{free}), human(options.bytes_per_run * 3 / 2)));
        medium.direct = recorder::direct_by_itself(medium.directory);
        media.push_back(std::move(medium));
    }
    return media;
}

int fail_with(const Error& error) {
    fmt::print(stderr, "weir bench: {}\n", error.message());
    return error.code == Errc::usage ? 2 : 1;
}

}  // namespace

int run_bench_record(const RecordBenchOptions& options) {
    if (options.workload != "atlas2018")
        return fail_with(
            {Errc::usage, 0, fmt::format("unknown workload \"{}\"; there is atlas2018", options.workload)});
    const auto media = media_of(options);
    if (!media) return fail_with(media.error());
    const auto machine = Machine::here();
    const auto figures = workload_figures(options.seed);
    const auto events = std::max<std::uint64_t>(
        options.connections,
        static_cast<std::uint64_t>(static_cast<double>(options.bytes_per_run.count()) / figures.bytes_per_event));
    if (!options.json) {
        fmt::print("{}: {} cores, {} threads, {}, Linux {}, {}\n{}\n", machine.processor, machine.cores,
                   machine.threads, human(Bytes{machine.memory_bytes}), machine.kernel, machine.compiler,
                   machine.kernels);
        fmt::print("{} a run ({} events), {} connections, medians of {} interleaved runs\n\n",
                   human(options.bytes_per_run), events, options.connections, options.repetitions);
        print_workload(figures);
    }
    const auto series = series_of(options, cpu_topology());
    std::map<std::pair<std::size_t, std::size_t>, std::vector<Measured>> measured;
    for (std::size_t m = 0; m < media->size(); ++m) {
        // The first round warms up (page tables, the file system's own memory) and is not counted.
        for (std::size_t round = 0; round <= options.repetitions; ++round) {
            for (std::size_t s = 0; s < series.size(); ++s) {
                const auto result =
                    measure(series[s], (*media)[m],
                            round == 0 ? std::max<std::uint64_t>(events / 4, options.connections) : events,
                            options.bytes_per_run.count(), options);
                if (!result) return fail_with(result.error());
                if ((*media)[m].tmpfs) {
                    if (auto refilled = (*media)[m].tmpfs->refill(); !refilled) return fail_with(refilled.error());
                }
                if (round > 0) measured[{m, s}].push_back(*result);
            }
            if (!options.json) fmt::print(stderr, "{}: round {} of {}\n", (*media)[m].name, round, options.repetitions);
        }
    }
    std::vector<RecordRow> rows;
    for (std::size_t m = 0; m < media->size(); ++m) {
        for (std::size_t s = 0; s < series.size(); ++s) {
            std::vector<double> throughput, cpu, cores;
            for (const auto& one : measured[{m, s}]) {
                throughput.push_back(one.gb_per_s);
                cpu.push_back(one.cpu_per_gb);
                cores.push_back(one.cores);
            }
            rows.push_back({series[s], (*media)[m], spread_of(throughput), spread_of(cpu), spread_of(cores)});
        }
    }
    if (options.json) {
        fmt::print("{}\n", to_json(machine, rows, figures, options));
    } else {
        print_rows(rows, *media);
    }
    if (options.plot.empty()) return 0;
    if (auto drawn = draw(options.plot, figure(rows, *media, machine), 1000, 900); !drawn)
        return fail_with(drawn.error());
    if (!options.json) fmt::print("drawn: {}\n", options.plot);
    return 0;
}

}  // namespace weir::app
