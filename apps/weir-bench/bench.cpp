// SPDX-License-Identifier: Apache-2.0
// `weir bench NAME`: the figures of the sources, ours and the machine's limits in one run.
#include "bench.hpp"

#include <memory>

#include "allocate/allocate.hpp"
#include "build/build.hpp"
#include "checksum/checksum.hpp"
#include "parallel/parallel.hpp"
#include "readout/readout.hpp"
#include "record/record.hpp"
#include "select/select.hpp"
#include "serialize/serialize.hpp"
#include "undetected/undetected.hpp"

namespace weir::app {
namespace {

void add_bench_record(CLI::App& bench, Command& chosen) {
    auto options = std::make_shared<RecordBenchOptions>();
    auto& record = add_command(bench, group_measure, "record", "what recording costs, and what checksums add to it",
                               "weir bench record --medium disk=/data --plot figure5.svg");
    add_value(record, "--medium", options->media, "NAME=DIR", "where to write; tmpfs alone mounts one (root)");
    add_value(record, "--profile", options->workload, "NAME", "workload");
    add_value(record, "--repetitions", options->repetitions, "N", "counted runs of each series, interleaved");
    add_value(record, "--bytes", options->bytes_per_run, "SIZE", "events sent in each run");
    add_value(record, "--connections", options->connections, "K", "connections of the senders");
    add_value(record, "--threads-max", options->checksum_threads_max, "N",
              "most checksum threads of parallel; 0: one a core");
    add_value(record, "--seed", options->seed, "S", "of the workload");
    add_value(record, "--plot", options->plot, "FILE", "draws figure 5 and the bars; .svg or .png");
    add_json_flag(record, options->json);
    record.callback([options, &chosen] { chosen = [options] { return run_bench_record(*options); }; });
}

void add_bench_checksum(CLI::App& bench, Command& chosen) {
    auto options = std::make_shared<ChecksumBenchOptions>();
    auto& command =
        add_command(bench, group_measure, "checksum", "every algorithm beside other libraries and the machine's limits",
                    "weir bench checksum -a adler32 -a crc32c --plot sums.svg");
    add_value(command, "-a,--algorithm", options->algorithms, "NAME", "only these; else all");
    add_value(command, "--peer", options->peers, "NAME=FILE",
              "a library by its file, instead of the one that is installed");
    add_value(command, "--size", options->sizes, "SIZE", "how many bytes a call sums");
    add_value(command, "--from", options->places, "PLACE",
              "the same sizes again from memory, or as another core wrote them");
    add_value(command, "--repetitions", options->repetitions, "N", "counted runs of each figure, interleaved");
    add_value(command, "--dram", options->dram, "SIZE", "data that stands for memory, beyond the caches");
    add_value(command, "--dir", options->directory, "DIR", "where a file is written and read");
    add_value(command, "--file", options->file, "SIZE", "of that file; 0: none");
    add_value(command, "--plot", options->plot, "FILE", "draws throughput against size; .svg or .png");
    add_json_flag(command, options->json);
    command.callback([options, &chosen] { chosen = [options] { return run_bench_checksum(*options); }; });
}

void add_bench_parallel(CLI::App& bench, Command& chosen) {
    auto options = std::make_shared<ParallelBenchOptions>();
    auto& command =
        add_command(bench, group_measure, "parallel", "adler32 of one event by several threads: cost and gain",
                    "weir bench parallel --plot cutoff.svg");
    add_value(command, "--threads-max", options->threads_max, "N",
              "most threads that sum, the caller included; 0: one a core");
    add_value(command, "--repetitions", options->repetitions, "N", "calls of each kind, interleaved");
    add_value(command, "--plot", options->plot, "FILE", "draws speed-up against size; .svg or .png");
    add_json_flag(command, options->json);
    command.callback([options, &chosen] { chosen = [options] { return run_bench_parallel(*options); }; });
}

void add_bench_build(CLI::App& bench, Command& chosen) {
    auto options = std::make_shared<BuildBenchOptions>();
    auto& command =
        add_command(bench, group_measure, "build", "event building against sizes, sources, loss and shaping",
                    "weir bench build --series size --plot figure3.svg");
    add_value(command, "--series", options->series, "NAME",
              "size, sources, loss, wakes, output, rate, line (root); else all");
    add_value(command, "--repetitions", options->repetitions, "N", "counted runs of each figure, interleaved");
    add_flag(command, "--quick", options->quick, "short runs of a few figures: to see that it works");
    add_value(command, "--plot", options->plot, "FILE", "draws figure 3 and its neighbours; .svg or .png");
    add_json_flag(command, options->json);
    command.callback([options, &chosen] { chosen = [options] { return run_bench_build(*options); }; });
}

void add_bench_undetected(CLI::App& bench, Command& chosen) {
    auto options = std::make_shared<UndetectedBenchOptions>();
    auto& command = add_command(bench, group_measure, "undetected", "how often damage leaves a sum as it was",
                                "weir bench undetected --plot undetected.svg");
    add_value(command, "--trials", options->trials, "N", "of each kind of damage on 1 KiB; fewer on longer data");
    add_value(command, "--seed", options->seed, "S", "the same seed, the same damage");
    add_value(command, "--plot", options->plot, "FILE", "draws what adler32 misses; .svg or .png");
    add_json_flag(command, options->json);
    command.callback([options, &chosen] { chosen = [options] { return run_bench_undetected(*options); }; });
}

void add_bench_readout(CLI::App& bench, Command& chosen) {
    auto options = std::make_shared<ReadoutBenchOptions>();
    auto& command =
        add_command(bench, group_measure, "readout",
                    "how request handlers should wait for data; the published load of a readout; input from outside",
                    "weir bench readout --plot figure5.svg");
    add_value(command, "--handlers", options->handlers, "N", "request handlers; as often as needed");
    add_value(command, "--latency", options->latencies, "TIME",
              "of the data after they were asked for; 0s: they are there");
    add_value(command, "--repetitions", options->repetitions, "N", "runs of each point, interleaved");
    add_value(command, "--time", options->time, "TIME", "of one run of a point");
    add_value(command, "--load-time", options->load_time, "TIME", "of one run of the published load; 0s: none");
    add_value(command, "--input-time", options->input_time, "TIME", "of one run of fragments from outside; 0s: none");
    add_value(command, "--input", options->inputs, "NAME",
              "only fragments that come so: tcp, udp, ...; as often as needed");
    add_value(command, "--build-time", options->build_time, "TIME",
              "of one run of these with trigger and building behind; 0s: none");
    command.add_flag("--quick", options->quick, "a few points, in 8 s");
    add_value(command, "--plot", options->plot, "FILE", "draws request rate and CPU against handlers; .svg or .png");
    add_json_flag(command, options->json);
    command.callback([options, &chosen] { chosen = [options] { return run_bench_readout(*options); }; });
}

void add_bench_select(CLI::App& bench, Command& chosen) {
    auto options = std::make_shared<SelectBenchOptions>();
    auto& command = add_command(bench, group_measure, "select",
                                "worker threads of a processing unit hide the time that data need to come",
                                "weir bench select --plot workers.svg");
    add_value(command, "--workers", options->workers, "N", "worker threads; as often as needed");
    add_value(command, "--latency", options->latencies, "TIME",
              "of the data after they were asked for; 0s: they are there");
    add_value(command, "--selection", options->selection, "NAME", "what a worker computes: busy:50us, all, a file");
    add_value(command, "--depth", options->depth, "N", "events in the unit for each worker");
    add_value(command, "--steps", options->steps, "N",
              "also a selection that requests its data in so many steps; 0: not measured");
    add_value(command, "--repetitions", options->repetitions, "N", "runs of each point, interleaved");
    add_value(command, "--time", options->time, "TIME", "of one run of a point");
    command.add_flag("--quick", options->quick, "a few points, in less than 3 s");
    add_value(command, "--plot", options->plot, "FILE", "draws events/s against workers; .svg or .png");
    add_json_flag(command, options->json);
    command.callback([options, &chosen] { chosen = [options] { return run_bench_select(*options); }; });
}

void add_bench_allocate(CLI::App& bench, Command& chosen) {
    auto options = std::make_shared<AllocateBenchOptions>();
    auto& command = add_command(bench, group_measure, "allocate",
                                "pools and allocators: threads for themselves, and memory freed elsewhere",
                                "weir bench allocate --plot memory.svg");
    add_value(command, "--allocator", options->allocators, "NAME", "only these; else all");
    add_value(command, "--threads", options->threads, "N", "that work for themselves; else 1, 2, 4, ... and all");
    add_value(command, "--repetitions", options->repetitions, "N", "runs of each point, interleaved");
    add_value(command, "--time", options->time, "TIME", "of one run of a point");
    add_value(command, "--seconds", options->seconds, "S", "that the memory of each is watched; 0: not at all");
    add_value(command, "--memory-max", options->memory_max, "SIZE", "a run ends there: what leaks would go on");
    add_flag(command, "--quick", options->quick, "a short run of everything, in seconds");
    add_value(command, "--plot", options->plot, "FILE", "draws throughput and memory; .svg or .png");
    add_json_flag(command, options->json);
    add_value(command, "--worker", options->worker, "PATTERN", "").group("");  // how it starts itself
    command.callback([options, &chosen] { chosen = [options] { return run_bench_allocate(*options); }; });
}

void add_bench_serialize(CLI::App& bench, Command& chosen) {
    auto options = std::make_shared<SerializeBenchOptions>();
    auto& command = add_command(bench, group_measure, "serialize",
                                "objects in ROOT's bytes by 1 to n threads, beside ROOT and other libraries",
                                "weir bench serialize --root-python venv/bin/python --plot streaming.svg");
    add_value(command, "--threads", options->threads, "N", "threads that stream; as often as needed");
    add_value(command, "--candidate", options->candidates, "TEXT",
              "only those with TEXT in their name; as often as needed");
    add_value(command, "--root-python", options->root_python, "PROGRAM", "a Python interpreter that has ROOT");
    add_value(command, "--peers", options->peers, "DIR", "where weir-bench-boost and others lie; else beside weir");
    add_value(command, "--repetitions", options->repetitions, "N", "visits of each point, interleaved");
    add_flag(command, "--quick", options->quick, "a little of everything but ROOT, in a few seconds");
    add_value(command, "--plot", options->plot, "FILE", "draws throughput against threads; .svg or .png");
    add_json_flag(command, options->json);
    command.callback([options, &chosen] { chosen = [options] { return run_bench_serialize(*options); }; });
}

}  // namespace

void add_bench(CLI::App& parent, Command& chosen) {
    auto& bench = add_command(parent, group_measure, "bench", "measures this machine: limits, ours, peers, in one run",
                              "weir bench record --plot figure5.svg");
    bench.require_subcommand(1);
    add_bench_record(bench, chosen);
    add_bench_checksum(bench, chosen);
    add_bench_parallel(bench, chosen);
    add_bench_build(bench, chosen);
    add_bench_undetected(bench, chosen);
    add_bench_readout(bench, chosen);
    add_bench_select(bench, chosen);
    add_bench_allocate(bench, chosen);
    add_bench_serialize(bench, chosen);
}

}  // namespace weir::app
