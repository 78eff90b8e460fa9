// SPDX-License-Identifier: Apache-2.0
#include "allocate/allocate_worker.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "allocate/run/allocate_run.hpp"
#include "cli/process/child_process.hpp"

namespace weir::app {

namespace json = boost::json;

json::object to_json(const AllocateReport& report) {
    json::array memory;
    for (const auto& at : report.memory) memory.push_back(json::array{at.seconds, at.bytes});
    return {{"rate",
             {{"median", report.rate.median},
              {"low", report.rate.low},
              {"high", report.rate.high},
              {"runs", report.rate.runs}}},
            {"batches", report.batches},
            {"memory", std::move(memory)},
            {"memory_max_reached", report.memory_max_reached},
            {"corrections", report.corrections},
            {"line_trip", report.line_trip}};
}

Result<AllocateReport> read_allocate_report(std::string_view text) {
    boost::system::error_code error;
    const auto document = boost::json::parse(text, error);
    if (error) return fail(Errc::corrupt, "what the worker printed is not a report: " + error.message());
    try {
        const auto& fields = document.as_object();
        const auto& rate = fields.at("rate").as_object();
        AllocateReport report{.rate = {.median = rate.at("median").to_number<double>(),
                                       .low = rate.at("low").to_number<double>(),
                                       .high = rate.at("high").to_number<double>(),
                                       .runs = rate.at("runs").to_number<std::size_t>()},
                              .batches = fields.at("batches").to_number<std::uint64_t>(),
                              .memory = {},
                              .memory_max_reached = fields.at("memory_max_reached").as_bool(),
                              .corrections = fields.at("corrections").to_number<std::uint64_t>(),
                              .line_trip = fields.at("line_trip").to_number<double>()};
        for (const auto& at : fields.at("memory").as_array())
            report.memory.push_back(
                {.seconds = at.as_array().at(0).to_number<double>(), .bytes = at.as_array().at(1).to_number<double>()});
        return report;
    } catch (const std::exception& wrong) {
        return fail(Errc::corrupt, fmt::format("what the worker printed is not a report: {}", wrong.what()));
    }
}

Result<AllocateReport> measure_allocate(const std::string& allocator, const std::string& file,
                                        const std::string& pattern, const AllocateWork& work) {
    std::vector<std::string> command{"env"};
    if (file.empty()) {
        command.insert(command.end(), {"-u", "LD_PRELOAD"});
    } else {
        command.push_back("LD_PRELOAD=" + file);
    }
    command.insert(command.end(), {ChildProcess::self(), "allocate", "--worker", pattern, "--allocator", allocator,
                                   "--threads", fmt::to_string(work.threads), "--time", to_string(work.time),
                                   "--memory-max", to_string(work.memory_max)});
    auto worker = WEIR_TRY(ChildProcess::start(command, true));
    const auto status = worker.wait();
    if (status.exit_code != 0) {
        return fail(Errc::io, fmt::format("the worker of {} ({}, {} threads) ended with exit code {}", allocator,
                                          pattern, work.threads, status.exit_code));
    }
    return read_allocate_report(status.output);
}

int run_allocate_worker(const std::string& allocator, const std::string& pattern, const AllocateWork& work) {
    const auto* candidate = allocate_candidate(allocator);
    if (candidate == nullptr || (pattern != pattern_private && pattern != pattern_passed)) {
        fmt::print(stderr, "weir bench: no worker for {} and {}\n", allocator, pattern);
        return 2;
    }
    if (const auto found = library_of_new();
        !candidate->files.empty() && std::ranges::find(candidate->files, found) == candidate->files.end()) {
        fmt::print(stderr, "weir bench: operator new is {}'s, not {}'s\n", found, allocator);
        return 1;
    }
    const auto figures = run_allocate_pattern(allocator, pattern == pattern_passed, work);
    const AllocateReport report{.rate = spread_of(figures.rates),
                                .batches = figures.batches,
                                .memory = figures.memory,
                                .memory_max_reached = figures.memory_max_reached,
                                .corrections = figures.corrections,
                                .line_trip = figures.line_trip};
    fmt::print("{}\n", json::serialize(to_json(report)));
    return 0;
}

}  // namespace weir::app
