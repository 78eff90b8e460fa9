// SPDX-License-Identifier: Apache-2.0
#include "record/record_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "weir/recorder/recorder_options.hpp"
#include "weir/workload/profile.hpp"

namespace weir::app {
namespace {

namespace json = boost::json;

const RecordRow* find(std::span<const RecordRow> rows, const std::string& medium, const std::string& name,
                      unsigned threads = 0) {
    const auto found = std::ranges::find_if(rows, [&](const RecordRow& row) {
        return row.medium.name == medium && row.series.name == name && (threads == 0 || row.series.threads == threads);
    });
    return found == rows.end() ? nullptr : &*found;
}

json::object machine_json(const Machine& machine) {
    return {{"processor", machine.processor}, {"cores", machine.cores},
            {"threads", machine.threads},     {"memory_bytes", machine.memory_bytes},
            {"kernel", machine.kernel},       {"compiler", machine.compiler},
            {"kernels", machine.kernels}};
}

}  // namespace

WorkloadFigures workload_figures(std::uint64_t seed) {
    WorkloadFigures figures;
    workload::Sampler sampler(workload::Profile::atlas2018(), seed);
    constexpr std::uint64_t samples = 50'000;
    for (std::uint64_t i = 0; i < samples; ++i) {
        const auto planned = sampler.next();
        const auto add = [&](WorkloadFigures::Stream& stream) {
            const auto bytes = planned.stored_size.count();
            ++stream.events;
            stream.bytes += bytes;
            if (bytes <= small_event) return;
            ++stream.events_above;
            stream.bytes_above += bytes;
        };
        add(figures.streams[sampler.profile().streams[planned.stream].type + "_" +
                            sampler.profile().streams[planned.stream].name]);
        if (planned.express) add(figures.streams["express_express"]);
        add(figures.all);
    }
    figures.bytes_per_event = static_cast<double>(figures.all.bytes) / samples;
    return figures;
}

std::string to_json(const Machine& machine, std::span<const RecordRow> rows, const WorkloadFigures& figures,
                    const RecordBenchOptions& options) {
    json::array list;
    const auto add = [&](const RecordRow& row, const char* what, const char* unit, const Spread& spread) {
        list.push_back({{"name", what},
                        {"peer", !row.series.ours},
                        {"parameters",
                         {{"mode", row.series.name == "unsynced" ? "receipt" : row.series.name},
                          {"sync", row.series.name != "unsynced"},
                          {"threads", row.series.threads},
                          {"smt_siblings", row.series.siblings},
                          {"workload", options.workload},
                          {"medium", row.medium.name},
                          {"direct_io", row.medium.direct}}},
                        {"value", spread.median},
                        {"low", spread.low},
                        {"high", spread.high},
                        {"runs", spread.runs},
                        {"unit", unit}});
    };
    for (const auto& row : rows) {
        add(row, "throughput", "GB/s", row.gb_per_s);
        add(row, "cpu", "CPU-s/GB", row.cpu_per_gb);
        add(row, "cores_used", "cores", row.cores);
    }
    json::array streams;
    for (const auto& [name, stream] : figures.streams) {
        streams.push_back(
            {{"stream", name},
             {"bytes_fraction", static_cast<double>(stream.bytes) / static_cast<double>(figures.all.bytes)},
             {"events_above_cutoff", static_cast<double>(stream.events_above) / static_cast<double>(stream.events)},
             {"bytes_above_cutoff", static_cast<double>(stream.bytes_above) / static_cast<double>(stream.bytes)}});
    }
    return json::serialize(json::object{{"bench", "record"},
                                        {"machine", machine_json(machine)},
                                        {"bytes_per_run", options.bytes_per_run.count()},
                                        {"connections", options.connections},
                                        {"repetitions", options.repetitions},
                                        {"workload", streams},
                                        {"rows", list}});
}

void print_workload(const WorkloadFigures& figures) {
    fmt::print("{:<20} {:>8} {:>22} {:>22}\n", "stream", "bytes", "events above 32 kB", "bytes above 32 kB");
    const auto percent = [](std::uint64_t part, std::uint64_t whole) {
        return 100.0 * static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(whole, 1));
    };
    const auto line = [&](const std::string& name, const WorkloadFigures::Stream& s) {
        fmt::print("{:<20} {:>7.1f}% {:>21.1f}% {:>21.1f}%\n", name, percent(s.bytes, figures.all.bytes),
                   percent(s.events_above, s.events), percent(s.bytes_above, s.bytes));
    };
    for (const auto& [name, stream] : figures.streams) line(name, stream);
    line("all", figures.all);
    fmt::print("(express events are in physics_Main too; \"all\" counts them once)\n");
}

void print_rows(std::span<const RecordRow> rows, std::span<const RecordMedium> media) {
    for (const auto& medium : media) {
        fmt::print("\n{} ({}{})\n", medium.name, medium.directory.native(), medium.direct ? ", direct I/O" : "");
        fmt::print("{:<48} {:>6} {:>13} {:>10} {:>6}\n", "", "GB/s", "(low-high)", "CPU-s/GB", "cores");
        for (const auto& row : rows) {
            if (row.medium.name != medium.name) continue;
            fmt::print("{:<48} {:>6.2f} {:>6.2f}-{:<6.2f} {:>10.3f} {:>6.2f}\n", row.series.description,
                       row.gb_per_s.median, row.gb_per_s.low, row.gb_per_s.high, row.cpu_per_gb.median,
                       row.cores.median);
        }
        const auto* off = find(rows, medium.name, "off");
        const auto* receipt = find(rows, medium.name, "receipt");
        const auto* unsynced = find(rows, medium.name, "unsynced");
        const auto* original = find(rows, medium.name, "original");
        const auto* copy = find(rows, medium.name, "copy");
        fmt::print("receipt / off           {:.3f} of the throughput, {:.3f} of the CPU\n",
                   receipt->gb_per_s.median / off->gb_per_s.median,
                   receipt->cpu_per_gb.median / off->cpu_per_gb.median);
        fmt::print("receipt / unsynced      {:.3f} of the throughput, a sync every {} ms at most\n",
                   receipt->gb_per_s.median / unsynced->gb_per_s.median,
                   recorder::RecorderOptions{}.sync_interval.count());
        fmt::print("original / receipt      {:.3f} of the CPU;  receipt / original  {:.3f} of the throughput\n",
                   original->cpu_per_gb.median / receipt->cpu_per_gb.median,
                   receipt->gb_per_s.median / original->gb_per_s.median);
        fmt::print("receipt / receive-copy-write  {:.3f} of the throughput\n",
                   receipt->gb_per_s.median / copy->gb_per_s.median);
    }
}

std::string figure(std::span<const RecordRow> rows, std::span<const RecordMedium> media, const Machine& machine) {
    std::string script = "set multiplot layout 2,1\nset grid ytics\nset key outside right\n";
    for (std::size_t m = 0; m < media.size(); ++m) {
        const auto* original = find(rows, media[m].name, "original");
        script += fmt::format("$split{} << EOD\n0 1\n", m);
        for (const auto& row : rows) {
            if (row.medium.name == media[m].name && row.series.name == "parallel")
                script +=
                    fmt::format("{} {:.4f}\n", row.series.threads, row.gb_per_s.median / original->gb_per_s.median);
        }
        script += "EOD\n";
        const auto* receipt = find(rows, media[m].name, "receipt");
        script += fmt::format("receipt{} = {:.4f}\n", m, receipt->gb_per_s.median / original->gb_per_s.median);
    }
    script += fmt::format("set title 'Throughput against checksum threads (original = 1), {} cores'\n", machine.cores);
    script +=
        "set xlabel 'checksum threads'\nset ylabel 'relative throughput'\nset xtics 1\nset yrange [0:*]\nset xrange "
        "[-0.2:*]\nplot ";
    for (std::size_t m = 0; m < media.size(); ++m) {
        script += fmt::format(
            "{}$split{} using 1:2 with linespoints lw 2 lc {} title 'parallel, {}', receipt{} with lines lw 2 dt 2 lc "
            "{} title 'receipt, {}'",
            m > 0 ? ", " : "", m, m + 1, media[m].name, m, m + 1, media[m].name);
    }
    script +=
        "\nunset xlabel\nset title 'Recording atlas2018'\nset ylabel 'GB/s'\nset style data histogram\n"
        "set style histogram errorbars gap 1\nset style fill solid 0.7\nset xtics auto rotate by -25\nset xrange "
        "[*:*]\n";
    for (std::size_t m = 0; m < media.size(); ++m) {
        script += fmt::format("$bars{} << EOD\n", m);
        for (const auto& row : rows) {
            if (row.medium.name != media[m].name) continue;
            const auto label =
                row.series.name == "parallel" ? fmt::format("parallel {}", row.series.threads) : row.series.name;
            script += fmt::format("\"{}\" {:.4f} {:.4f} {:.4f}\n", label, row.gb_per_s.median, row.gb_per_s.low,
                                  row.gb_per_s.high);
        }
        script += "EOD\n";
    }
    script += "plot ";
    for (std::size_t m = 0; m < media.size(); ++m)
        script +=
            fmt::format("{}$bars{} using 2:3:4:xtic(1) lc {} title '{}'", m > 0 ? ", " : "", m, m + 1, media[m].name);
    return script + "\nunset multiplot\n";
}

}  // namespace weir::app
