// SPDX-License-Identifier: Apache-2.0
#include "serialize/serialize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "figures/rows.hpp"
#include "serialize/serialize_candidates.hpp"
#include "serialize/serialize_figures.hpp"
#include "serialize/serialize_points.hpp"
#include "weir/base/cpu.hpp"

namespace weir::app {
namespace {

constexpr std::size_t batches_wanted = 5;  // of a point that counts

/// A point and who measures it.
struct Place {
    std::size_t point;
    JobProcess* process;
    std::size_t job;
};

class Bench {
public:
    Bench(const SerializeBenchOptions& options, std::vector<JobProcess>& processes, unsigned cores)
        : options_(options), cores_(cores) {
        for (const auto& cpu : cpu_topology()) cpus_.push_back(cpu.number);
        for (const bool writes : {true, false}) {
            for (const auto* subject : {"10", "1000", "event"}) {
                for (auto& process : processes) {
                    for (std::size_t job = 0; job < process.jobs().size(); ++job) {
                        const auto& what = process.jobs()[job];
                        if (what.writes == writes && what.subject == subject && wanted(what.codec)) add(process, job);
                    }
                }
            }
        }
    }

    /// Every point in turn, and that again for each repetition, so that what else the machine does hits all alike.
    /// Points of which next to no batch overlapped are visited more often behind that.
    Result<> run() {
        for (std::size_t round = 0; round < options_.repetitions; ++round) {
            for (const auto& place : places_) WEIR_TRY(visit(place, round));
            if (!options_.json) fmt::print(stderr, "round {} of {}\n", round + 1, options_.repetitions);
        }
        for (const auto& place : places_)
            for (std::size_t more = 0; more < options_.visits_more && points_[place.point].counted() < batches_wanted;
                 ++more)
                WEIR_TRY(visit(place, more));
        return {};
    }

    [[nodiscard]] const SerializePoints& points() const noexcept { return points_; }

private:
    [[nodiscard]] bool wanted(const std::string& codec) const {
        return options_.candidates.empty() || std::ranges::any_of(options_.candidates, [&](const std::string& part) {
                   return codec.find(part) != std::string::npos;
               });
    }

    void add(JobProcess& process, std::size_t job) {
        const auto& what = process.jobs()[job];
        for (const auto threads : options_.threads) {
            places_.push_back({points_.size(), &process, job});
            points_.push_back({.candidate = what.codec,
                               .subject = what.subject,
                               .writes = what.writes,
                               .threads = threads,
                               .bytes = what.bytes});
        }
    }

    Result<> visit(const Place& place, std::size_t round) {
        jobs::Visit visit;
        visit.threads = points_[place.point].threads;
        visit.batches = options_.batches;
        visit.place = round;
        visit.copies = options_.copies;
        visit.cpus = cpus_;  // cores first; no copy beside a thread on the same core
        visit.cpus.resize(std::min<std::size_t>(cpus_.size(), std::max(cores_, visit.threads)));
        const auto figures = WEIR_TRY(place.process->run(place.job, visit));
        points_[place.point].visits.push_back(figures);
        return {};
    }

    const SerializeBenchOptions& options_;
    const unsigned cores_;
    std::vector<int> cpus_;
    std::vector<Place> places_;
    SerializePoints points_;
};

int fail_with(const Error& error) {
    fmt::print(stderr, "weir bench: {}\n", error.message());
    return error.code == Errc::usage ? 2 : 1;
}

}  // namespace

int run_bench_serialize(const SerializeBenchOptions& given) {
    auto options = given;
    const auto machine = Machine::here();
    if (options.quick) {
        options.repetitions = 1;
        options.batches = 2;
        options.visits_more = 0;  // a busy machine must not make it long
        options.copies = false;
        if (given.root_python == SerializeBenchOptions{}.root_python) options.root_python.clear();
    }
    if (options.threads.empty()) {
        for (std::uint32_t threads = 1; threads < machine.cores; threads *= 2) options.threads.push_back(threads);
        options.threads.push_back(machine.cores);
    }
    if (options.repetitions == 0 ||
        std::ranges::any_of(options.threads, [&](auto threads) { return threads < 1 || threads > machine.threads; }))
        return fail_with(
            {Errc::usage, 0,
             fmt::format("--repetitions must be 1 at least, and --threads 1 to {}, as many as there are here",
                         machine.threads)});
    const auto is_root = [](const std::string& part) {
        return std::string("ROOT object-wise, its old flag store, ROOT member-wise").find(part) != std::string::npos;
    };
    if (!options.candidates.empty() && std::ranges::none_of(options.candidates, is_root)) options.root_python.clear();
    auto candidates = find_serialize_candidates(options.peers, options.root_python);
    if (!candidates) return fail_with(candidates.error());
    Bench bench(options, candidates->processes, machine.cores);
    if (bench.points().empty()) return fail_with({Errc::usage, 0, "no --candidate has such a name"});
    if (auto done = bench.run(); !done) return fail_with(done.error());
    if (options.json) {
        boost::json::array about, notes;
        for (const auto& process : candidates->processes) about.emplace_back(process.about());
        for (const auto& note : candidates->notes) notes.emplace_back(note);
        fmt::print("{}\n", boost::json::serialize(bench_document("serialize", machine, serialize_rows(bench.points()),
                                                                 {{"repetitions", options.repetitions},
                                                                  {"overlap_min", jobs::overlap_min},
                                                                  {"libraries", std::move(about)},
                                                                  {"notes", std::move(notes)}})));
    } else {
        print_machine(machine);
        for (const auto& process : candidates->processes)
            if (process.about() != "weir") fmt::print("{}\n", process.about());
        print_serialize_points(bench.points(), candidates->notes);
    }
    if (options.plot.empty()) return 0;
    if (auto drawn = draw_serialize_points(options.plot, bench.points(), machine); !drawn)
        return fail_with(drawn.error());
    if (!options.json) fmt::print("drawn: {}\n", options.plot);
    return 0;
}

}  // namespace weir::app
