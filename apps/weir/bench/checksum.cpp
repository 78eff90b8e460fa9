// SPDX-License-Identifier: Apache-2.0
#include "checksum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <functional>

#include "file_reading.hpp"
#include "rows.hpp"
#include "checksum_figures.hpp"
#include "memory_limits.hpp"
#include "peer_library.hpp"
#include "sum_candidates.hpp"
#include "thread_timer.hpp"
#include "weir/checksum/adler32.hpp"
#include "weir/checksum/cksum.hpp"
#include "weir/checksum/copy_and_sum.hpp"
#include "weir/checksum/crc32.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/checksum/crc64.hpp"

namespace weir::app {
namespace {

namespace json = boost::json;
using digest::Algorithm;

/// Something to be measured again and again, between the others.
struct Subject {
    BenchRow row;
    std::function<double()> measure;  // a value in the row's unit
    std::vector<double> values{};
};

class Bench {
public:
    explicit Bench(const ChecksumBenchOptions& options)
        : options_(options), source_(options.dram.count()), target_(options.dram.count()) {}

    Result<> add_sums() {
        std::vector<SumCandidate> candidates = sum_candidates();
        for (const auto& candidate : candidates) {
            if (!wanted(candidate.algorithm)) continue;
            if (auto right = compare(candidate, candidates); !right) return right;
            for (const std::size_t size : hot_sizes) add_sum(candidate, size, "hot");
            add_sum(candidate, source_.data().size(), "dram");
        }
        for (const std::size_t size : hot_sizes) add_read(size, "hot");
        add_read(source_.data().size(), "dram");
        return {};
    }

    void add_copies() {
        const auto all = source_.data();
        const auto to = target_.data();
        add_copy("memcpy", true, [=] { std::memcpy(to.data(), all.data(), all.size()); });
        add_copy("non-temporal copy", true, [=] { checksum::copy_only(to, all, checksum::Stores::non_temporal); });
        add_copy("copy and adler32", false, [=] {
            auto sum = checksum::copy_adler32(to, all, 1, checksum::Stores::non_temporal);
            keep(sum);
        });
        add_copy("copy and crc32c", false, [=] {
            auto sum = checksum::copy_crc32c(to, all, 0, checksum::Stores::non_temporal);
            keep(sum);
        });
        for (const auto& [algorithm, peer] : {std::pair{Algorithm::adler32, "zlib"}, std::pair{Algorithm::adler32, "libdeflate"},
                                              std::pair{Algorithm::crc32c, "isa-l"}}) {
            for (const auto& candidate : sum_candidates()) {
                if (candidate.algorithm != algorithm || candidate.implementation != peer) continue;
                add_copy(fmt::format("memcpy, then {} {}", peer, name(algorithm)), true, [=, run = candidate.run] {
                    std::memcpy(to.data(), all.data(), all.size());
                    auto sum = run(to);
                    keep(sum);
                });
            }
        }
    }

    void add_combines() {
        using namespace checksum;
        constexpr std::uint64_t length = (1ULL << 30) + 12345;
        combine32("adler32", "any length", false, adler32_combine, length);
        combine32("crc32", "any length", false, crc32_combine, length);
        combine32("crc32c", "any length", false, crc32c_combine, length);
        combine32("cksum", "any length", false, cksum_combine_running, length);
        combine64("crc64-xz", "any length", crc64_xz_combine, length);
        combine64("crc64-nvme", "any length", crc64_nvme_combine, length);
        combine64("crc64-ecma182", "any length", crc64_ecma182_combine, length);
        prepared("crc32", Crc32Combiner(length));
        prepared("crc32c", Crc32cCombiner(length));
        prepared("cksum", CksumCombiner(length));
        prepared("crc64-xz", Crc64Combiner(Crc64::xz, length));
        prepared("crc64-nvme", Crc64Combiner(Crc64::nvme, length));
        prepared("crc64-ecma182", Crc64Combiner(Crc64::ecma182, length));
        using Combine = unsigned long(unsigned long, unsigned long, long);
        const PeerLibrary zlib("libz.so.1");
        for (const auto& [algorithm, symbol] : {std::pair{"adler32", "adler32_combine"}, std::pair{"crc32", "crc32_combine"}}) {
            if (auto* const run = zlib.find<Combine>(symbol)) {
                combine32(algorithm, "zlib", true, [run](std::uint32_t a, std::uint32_t b, std::uint64_t n) {
                    return static_cast<std::uint32_t>(run(a, b, static_cast<long>(n)));
                }, length);
            }
        }
    }

    /// Every subject in turn, and that again for each repetition. The first round warms up.
    void run() {
        for (std::size_t round = 0; round <= options_.repetitions; ++round) {
            for (auto& subject : subjects_) {
                const auto value = subject.measure();
                if (round > 0) subject.values.push_back(value);
            }
            if (!options_.json) fmt::print(stderr, "round {} of {}\n", round, options_.repetitions);
        }
    }

    [[nodiscard]] std::vector<BenchRow> rows() {
        std::vector<BenchRow> rows;
        for (auto& subject : subjects_) {
            subject.row.value = spread_of(subject.values);
            rows.push_back(subject.row);
        }
        return rows;
    }

private:
    static constexpr std::array<std::size_t, 5> hot_sizes{1024, 4096, 32768, 262144, 1048576};

    [[nodiscard]] bool wanted(Algorithm algorithm) const {
        return options_.algorithms.empty() || std::ranges::find(options_.algorithms, name(algorithm)) != options_.algorithms.end();
    }

    /// A peer that gives another sum than ours is not measured beside it: one of both would be wrong.
    Result<> compare(const SumCandidate& candidate, const std::vector<SumCandidate>& all) const {
        if (!candidate.peer || !candidate.comparable) return {};
        const auto ours = std::ranges::find(all, candidate.algorithm, &SumCandidate::algorithm);
        for (const std::size_t size : {1U, 100U, 4099U, 70001U}) {
            const auto data = ConstData(source_.data()).subspan(3, size);
            if (candidate.run(data) != ours->run(data))
                return fail(Errc::corrupt, fmt::format("{} of {} bytes: {} and weir do not agree", name(candidate.algorithm), size,
                                                       candidate.implementation));
        }
        return {};
    }

    void add_sum(const SumCandidate& candidate, std::size_t size, const char* memory) {
        const auto data = ConstData(source_.data()).first(size);
        add({.name = "throughput", .peer = candidate.peer, .parameters = parameters(name(candidate.algorithm), candidate.implementation, size, memory),
             .value = {}, .unit = "GB/s"}, size, [=, run = candidate.run] {
            auto sum = run(data);
            keep(sum);
        });
    }

    void add_read(std::size_t size, const char* memory) {
        const auto data = ConstData(source_.data()).first(size);
        add({.name = "throughput", .peer = true, .parameters = parameters("(read)", "limit", size, memory), .value = {}, .unit = "GB/s"}, size, [=] {
            auto sum = read_all(data);
            keep(sum);
        });
    }

    void add_copy(std::string what, bool peer, std::function<void()> work) {
        add({.name = "copy", .peer = peer, .parameters = {{"implementation", std::move(what)}, {"bytes", target_.data().size()}, {"memory", "dram"}},
             .value = {}, .unit = "GB/s"}, target_.data().size(), std::move(work));
    }

    void add(BenchRow row, std::size_t bytes, std::function<void()> work) {
        subjects_.push_back({std::move(row), [bytes, work = std::move(work)] { return static_cast<double>(bytes) / 1e9 / seconds_of(work); }});
    }

    static json::object parameters(std::string_view algorithm, std::string_view implementation, std::size_t bytes, const char* memory) {
        return {{"algorithm", algorithm}, {"implementation", implementation}, {"bytes", bytes}, {"memory", memory}};
    }

    template <class Value, class Combine>
    void add_combine(const char* algorithm, const char* how, bool peer, Combine combine) {
        subjects_.push_back({{.name = "combine", .peer = peer, .parameters = {{"algorithm", algorithm}, {"implementation", how}}, .value = {}, .unit = "ns"},
                             [combine] {
                                 Value value = 0x1234567;
                                 constexpr int chain = 1000;  // each waits for the one before
                                 return seconds_of([&] {
                                            for (int i = 0; i < chain; ++i) value = combine(value, Value{0x7654321});
                                            keep(value);
                                        }) / chain * 1e9;
                             }});
    }
    template <class Combine>
    void combine32(const char* algorithm, const char* how, bool peer, Combine combine, std::uint64_t length) {
        add_combine<std::uint32_t>(algorithm, how, peer, [=](std::uint32_t a, std::uint32_t b) {
            auto n = length;
            keep(n);  // not a constant for the compiler
            return combine(a, b, n);
        });
    }
    template <class Combine>
    void combine64(const char* algorithm, const char* how, Combine combine, std::uint64_t length) {
        add_combine<std::uint64_t>(algorithm, how, false, [=](std::uint64_t a, std::uint64_t b) {
            auto n = length;
            keep(n);
            return combine(a, b, n);
        });
    }
    template <class Combiner>
    void prepared(const char* algorithm, Combiner combiner) {
        using Value = decltype(combiner(0, 0));
        add_combine<Value>(algorithm, "prepared", false, [=](Value a, Value b) { return combiner(a, b); });
    }

    const ChecksumBenchOptions& options_;
    NoisyMemory source_, target_;
    std::vector<Subject> subjects_;
};

int fail_with(const Error& error) {
    fmt::print(stderr, "weir bench: {}\n", error.message());
    return error.code == Errc::usage ? 2 : 1;
}

}  // namespace

int run_bench_checksum(const ChecksumBenchOptions& options) {
    for (const auto& algorithm : options.algorithms) {
        if (!digest::parse_algorithm(algorithm))
            return fail_with({Errc::usage, 0, fmt::format("unknown algorithm \"{}\"; there are {}", algorithm, digest::algorithm_names())});
    }
    if (options.dram < 64_MiB || options.repetitions == 0)
        return fail_with({Errc::usage, 0, "--dram must be 64MiB at least, to be beyond the caches, and --repetitions 1"});
    Bench bench(options);
    if (auto added = bench.add_sums(); !added) return fail_with(added.error());
    bench.add_copies();
    bench.add_combines();
    bench.run();
    const auto machine = Machine::here();
    auto rows = bench.rows();
    if (options.file.count() > 0) {
        const auto files = bench_file_reading(options.directory, options.file, options.repetitions);
        if (!files) return fail_with(files.error());
        rows.insert(rows.end(), files->begin(), files->end());
    }
    if (options.json) {
        fmt::print("{}\n", json::serialize(bench_document("checksum", machine, rows, {{"repetitions", options.repetitions}})));
    } else {
        print_machine(machine);
        print_checksum_rows(rows);
    }
    if (options.plot.empty()) return 0;
    if (auto drawn = draw_checksum_rows(options.plot, rows, machine); !drawn) return fail_with(drawn.error());
    if (!options.json) fmt::print("drawn: {}\n", options.plot);
    return 0;
}

}  // namespace weir::app
