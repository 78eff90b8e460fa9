// SPDX-License-Identifier: Apache-2.0
#include "checksum/file_reading.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

#include "figures/memory_limits.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/file.hpp"
#include "weir/fixity/sum_many.hpp"

namespace weir::app {
namespace {

using digest::Algorithm;
using fixity::Cache;
using fixity::Overlap;

struct Way {
    std::optional<Algorithm> algorithm;  // nothing: only read
    Cache cache;
    Overlap overlap;
    std::vector<double> values{};
};

/// A file of noise that is gone when this is.
class NoiseFile {
public:
    static Result<NoiseFile> make(const std::filesystem::path& directory, Bytes size) {
        auto pattern = (directory / "weir-bench-XXXXXX").native();
        const int fd = ::mkstemp(pattern.data());
        if (fd < 0) return fail_errno(errno, fmt::format("cannot make a file in {}", directory.native()));
        ::close(fd);
        NoiseFile made(pattern, size);
        auto file = WEIR_TRY(File::open(pattern, File::Mode::read_write));
        const NoisyMemory noise(std::min<std::size_t>(size.count(), 16U << 20));
        for (std::uint64_t at = 0; at < size.count(); at += noise.data().size()) {
            const auto part =
                ConstData(noise.data()).first(std::min<std::uint64_t>(noise.data().size(), size.count() - at));
            WEIR_TRY(file.write_at(at, part));
        }
        WEIR_TRY(file.sync_data());
        return made;
    }
    NoiseFile(NoiseFile&& other) noexcept : path_(std::exchange(other.path_, {})), size_(other.size_) {}
    NoiseFile& operator=(NoiseFile&&) = delete;
    ~NoiseFile() {
        if (!path_.empty()) ::unlink(path_.c_str());
    }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    [[nodiscard]] Bytes size() const noexcept { return size_; }

private:
    NoiseFile(std::string path, Bytes size) : path_(std::move(path)), size_(size) {}
    std::string path_;
    Bytes size_;
};

Result<double> measure(const NoiseFile& file, const Way& way) {
    fixity::Reading how;
    how.cache = way.cache;
    how.overlap = way.overlap;
    fixity::Parallel one;
    one.threads = 1;
    one.split_min = file.size() * 2;
    std::optional<fixity::Job> job{fixity::Job{}};
    job->path = file.path();
    if (way.algorithm) job->algorithms = {*way.algorithm};
    Result<> outcome;
    const SystemClock clock;
    const auto begin = std::chrono::steady_clock::now();
    fixity::sum_many(
        [&] { return std::exchange(job, std::nullopt); },
        [&](const fixity::FileSum& sum) {
            if (sum.status != fixity::Status::ok && sum.status != fixity::Status::unverified)
                outcome = fail(Errc::io, fmt::format("{}: {}", sum.path, sum.failure ? sum.failure->text : "not read"));
            else if (way.cache == Cache::direct && sum.read_through != Cache::direct)
                outcome = fail(Errc::unsupported, "no direct reading here");
        },
        how, one, clock);
    if (!outcome) return std::unexpected(outcome.error());
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    return static_cast<double>(file.size().count()) / 1e9 / seconds.count();
}

BenchRow row_of(const Way& way) {
    return {.name = "file",
            .peer = !way.algorithm,
            .parameters = {{"algorithm", way.algorithm ? name(*way.algorithm) : "(read)"},
                           {"reading", way.overlap == Overlap::always ? "overlapped" : "in turn"},
                           {"through", name(way.cache)}},
            .value = spread_of(way.values),
            .unit = "GB/s"};
}

}  // namespace

Result<std::vector<BenchRow>> bench_file_reading(const std::filesystem::path& directory, Bytes size,
                                                 std::size_t repetitions) {
    const auto file = WEIR_TRY(NoiseFile::make(directory, size));
    std::vector<Way> ways;
    for (const auto cache : {Cache::keep, Cache::direct}) {
        for (const auto& algorithm :
             {std::optional<Algorithm>{}, std::optional(Algorithm::adler32), std::optional(Algorithm::md5)}) {
            ways.push_back({algorithm, cache, Overlap::never});
            if (algorithm) ways.push_back({algorithm, cache, Overlap::always});
        }
    }
    for (std::size_t round = 0; round <= repetitions; ++round) {
        for (auto& way : ways) {
            const auto value = measure(file, way);
            if (!value && value.error().code == Errc::unsupported) continue;  // a file system without it: no row
            if (!value) return std::unexpected(value.error());
            if (round > 0) way.values.push_back(*value);
        }
    }
    std::vector<BenchRow> rows;
    for (const auto& way : ways) {
        if (!way.values.empty()) rows.push_back(row_of(way));
    }
    return rows;
}

}  // namespace weir::app
