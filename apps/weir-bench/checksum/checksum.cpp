// SPDX-License-Identifier: Apache-2.0
#include "checksum/checksum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>

#include "checksum/checksum_figures.hpp"
#include "checksum/file_reading.hpp"
#include "checksum/peer_library.hpp"
#include "checksum/sum_candidates.hpp"
#include "figures/memory_limits.hpp"
#include "figures/other_core.hpp"
#include "figures/rows.hpp"
#include "figures/thread_timer.hpp"
#include "weir/base/cpu.hpp"
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
        std::vector<PeerFile> given;
        for (const auto& peer : options_.peers) {
            const auto equals = peer.find('=');
            if (equals == std::string::npos)
                return fail(Errc::usage,
                            fmt::format("--peer {}: give NAME=FILE, for example libdeflate=/opt/libdeflate.so", peer));
            given.push_back({peer.substr(0, equals), peer.substr(equals + 1)});
        }
        candidates_ = WEIR_TRY(sum_candidates(given));
        for (const auto& candidate : candidates_) {
            if (!wanted(candidate.algorithm)) continue;
            WEIR_TRY(compare(candidate));
            for (const auto size : options_.sizes) add_sum(candidate, size.count(), "hot");
            add_sum(candidate, source_.data().size(), "dram");
        }
        for (const auto size : options_.sizes) add_read(size.count(), "hot");
        add_read(source_.data().size(), "dram");
        for (const auto& place : options_.places) {
            if (place == "core" && !writer_) {
                const auto cpus = cpu_topology();
                if (cpus.size() < 2)
                    return fail(
                        Errc::usage,
                        "--from core: this process may run on one processor only; there is no other that could write");
                stay_on(cpus.front().number);
                writer_ = std::make_unique<OtherCore>(cpus[1].number);
            }
            for (const auto& candidate : candidates_) {
                if (!wanted(candidate.algorithm)) continue;
                for (const auto size : options_.sizes) add_pieces(candidate, size.count(), place == "core");
            }
        }
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
        for (const auto& [algorithm, peer] :
             {std::pair{Algorithm::adler32, "zlib"}, std::pair{Algorithm::adler32, "libdeflate"},
              std::pair{Algorithm::crc32c, "isa-l"}}) {
            for (const auto& candidate : candidates_) {
                if (candidate.algorithm != algorithm || candidate.implementation != peer) continue;
                add_copy(fmt::format("memcpy, then {} {}", peer, name(algorithm)), true,
                         [=, repeat = candidate.repeat] {
                             std::memcpy(to.data(), all.data(), all.size());
                             auto sum = repeat(to, 1, 0);
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
        for (const auto& [algorithm, symbol] :
             {std::pair{"adler32", "adler32_combine"}, std::pair{"crc32", "crc32_combine"}}) {
            if (auto* const run = zlib.find<Combine>(symbol)) {
                combine32(
                    algorithm, "zlib", true,
                    [run](std::uint32_t a, std::uint32_t b, std::uint64_t n) {
                        return static_cast<std::uint32_t>(run(a, b, static_cast<long>(n)));
                    },
                    length);
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
    static constexpr std::size_t written_size = 1 << 20;  // fits the caches next to the core that writes
    static constexpr std::size_t walked_size = 32 << 20;  // of memory, in one measurement

    [[nodiscard]] bool wanted(Algorithm algorithm) const {
        return options_.algorithms.empty() ||
               std::ranges::find(options_.algorithms, name(algorithm)) != options_.algorithms.end();
    }

    /// A peer that gives another sum than ours is not measured beside it: one of both would be wrong.
    Result<> compare(const SumCandidate& candidate) const {
        if (!candidate.peer || !candidate.comparable) return {};
        const auto ours = std::ranges::find(candidates_, candidate.algorithm, &SumCandidate::algorithm);
        for (const std::size_t size : {1U, 16U, 64U, 100U, 256U, 4099U, 70001U}) {
            const auto data = ConstData(source_.data()).subspan(3, size);
            if (candidate.run(data) != ours->run(data))
                return fail(Errc::corrupt, fmt::format("{} of {} bytes: {} and weir do not agree",
                                                       name(candidate.algorithm), size, candidate.implementation));
        }
        return {};
    }

    void add_sum(const SumCandidate& candidate, std::size_t size, const char* memory) {
        const auto data = ConstData(source_.data()).first(size);
        subjects_.push_back({row_of(candidate, size, memory), [=, repeat = candidate.repeat] {
                                 return static_cast<double>(size) / 1e9 /
                                        seconds_of_one([&](std::uint64_t times) { repeat(data, times, 0); });
                             }});
    }

    /// Every piece is summed once after it came from memory, or after another core wrote it.
    void add_pieces(const SumCandidate& candidate, std::size_t size, bool written) {
        subjects_.push_back(
            {row_of(candidate, size, written ? "core" : "pieces"), [=, this, repeat = candidate.repeat] {
                 const std::size_t count = std::max<std::size_t>(1, (written ? written_size : walked_size) / size);
                 if (walked_ + count * size > source_.data().size()) walked_ = 0;
                 const auto data = source_.data().subspan(written ? 0 : walked_, count * size);
                 if (written) writer_->write(data);
                 else walked_ += data.size();
                 const double begin = thread_seconds();
                 repeat(data.first(size), count, size);
                 return static_cast<double>(data.size()) / 1e9 / (thread_seconds() - begin);
             }});
    }

    static BenchRow row_of(const SumCandidate& candidate, std::size_t size, const char* memory) {
        return {.name = "throughput",
                .peer = candidate.peer,
                .parameters = parameters(name(candidate.algorithm), candidate.implementation, size, memory),
                .value = {},
                .unit = "GB/s"};
    }

    void add_read(std::size_t size, const char* memory) {
        const auto data = ConstData(source_.data()).first(size);
        add({.name = "throughput",
             .peer = true,
             .parameters = parameters("(read)", "limit", size, memory),
             .value = {},
             .unit = "GB/s"},
            size, [=] {
                auto sum = read_all(data);
                keep(sum);
            });
    }

    void add_copy(std::string what, bool peer, std::function<void()> work) {
        add({.name = "copy",
             .peer = peer,
             .parameters = {{"implementation", std::move(what)}, {"bytes", target_.data().size()}, {"memory", "dram"}},
             .value = {},
             .unit = "GB/s"},
            target_.data().size(), std::move(work));
    }

    void add(BenchRow row, std::size_t bytes, std::function<void()> work) {
        subjects_.push_back({std::move(row), [bytes, work = std::move(work)] {
                                 return static_cast<double>(bytes) / 1e9 / seconds_of(work);
                             }});
    }

    static json::object parameters(std::string_view algorithm, std::string_view implementation, std::size_t bytes,
                                   const char* memory) {
        return {{"algorithm", algorithm}, {"implementation", implementation}, {"bytes", bytes}, {"memory", memory}};
    }

    template <class Value, class Combine>
    void add_combine(const char* algorithm, const char* how, bool peer, Combine combine) {
        subjects_.push_back({{.name = "combine",
                              .peer = peer,
                              .parameters = {{"algorithm", algorithm}, {"implementation", how}},
                              .value = {},
                              .unit = "ns"},
                             [combine] {
                                 Value value = 0x1234567;
                                 constexpr int chain = 1000;  // each waits for the one before
                                 return seconds_of([&] {
                                            for (int i = 0; i < chain; ++i) value = combine(value, Value{0x7654321});
                                            keep(value);
                                        }) /
                                        chain * 1e9;
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
    std::vector<SumCandidate> candidates_;
    std::unique_ptr<OtherCore> writer_;
    std::size_t walked_ = 0;
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
            return fail_with(
                {Errc::usage, 0,
                 fmt::format("unknown algorithm \"{}\"; there are {}", algorithm, digest::algorithm_names())});
    }
    if (options.dram < 64_MiB || options.repetitions == 0)
        return fail_with(
            {Errc::usage, 0, "--dram must be 64MiB at least, to be beyond the caches, and --repetitions 1"});
    for (const auto size : options.sizes) {
        if (size.count() == 0 || size > 64_MiB)
            return fail_with({Errc::usage, 0, fmt::format("--size {}: from 1 to 64MiB", size.count())});
    }
    for (const auto& place : options.places) {
        if (place != "memory" && place != "core")
            return fail_with(
                {Errc::usage, 0,
                 fmt::format("--from {}: memory or core (the caches of another core, which wrote the data)", place)});
    }
    const auto machine = Machine::here();  // before this thread stays on one processor
    Bench bench(options);
    if (auto added = bench.add_sums(); !added) return fail_with(added.error());
    bench.add_copies();
    bench.add_combines();
    bench.run();
    auto rows = bench.rows();
    if (options.file.count() > 0) {
        const auto files = bench_file_reading(options.directory, options.file, options.repetitions);
        if (!files) return fail_with(files.error());
        rows.insert(rows.end(), files->begin(), files->end());
    }
    if (options.json) {
        fmt::print("{}\n",
                   json::serialize(bench_document("checksum", machine, rows, {{"repetitions", options.repetitions}})));
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
