// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <random>

#include "weir/digest/summer.hpp"
#include "weir/fixity/sum_many.hpp"

namespace weir::fixity {
namespace {

using digest::Algorithm;

/// Reads that fall short, are interrupted, or fail from an offset on.
class FaultySystem final : public FileSystem {
public:
    ssize_t pread(int fd, void* to, std::size_t size, off_t offset) override {
        const auto n = calls_.fetch_add(1);
        if (interrupted && n % 3 == 1) return errno = EINTR, -1;
        if (fails_at >= 0 && offset + static_cast<off_t>(size) > fails_at) {
            if (offset >= fails_at) return errno = EIO, -1;
            size = static_cast<std::size_t>(fails_at - offset);
        }
        if (short_reads && size > 1) size = 1 + size / 2;
        return FileSystem::pread(fd, to, size, offset);
    }

    bool interrupted = false, short_reads = false;
    off_t fails_at = -1;

private:
    std::atomic<unsigned> calls_{0};
};

class SumMany : public testing::Test {
protected:
    SumMany() : folder_(std::filesystem::temp_directory_path() / ("weir-fixity-" + std::to_string(::getpid()))) {
        std::filesystem::create_directories(folder_);
    }
    ~SumMany() override { std::filesystem::remove_all(folder_); }

    std::string write(const std::string& name, std::size_t size) {
        std::mt19937_64 random(size);
        content_.resize(size);
        for (auto& byte : content_) byte = static_cast<std::byte>(random());
        const auto path = (folder_ / name).native();
        std::ofstream(path, std::ios::binary) << as_text(content_);
        return path;
    }

    FileSum sum(const std::string& path, const Reading& how, const Parallel& parallel, std::uint64_t block = 0,
                const std::vector<Algorithm>& algorithms = {Algorithm::adler32, Algorithm::crc32c,
                                                            Algorithm::cksum}) const {
        FileSum result;
        bool given = false;
        sum_many(
            [&]() -> std::optional<Job> {
                if (std::exchange(given, true)) return std::nullopt;
                Job job;
                job.path = path;
                job.algorithms = algorithms;
                job.block = block;
                return job;
            },
            [&](FileSum one) { result = std::move(one); }, how, parallel, clock_);
        return result;
    }

    const std::filesystem::path folder_;
    std::vector<std::byte> content_;
    const SystemClock clock_;
};

TEST_F(SumMany, EveryWayOfReadingGivesTheSameSums) {
    for (const std::size_t size : {0UL, 1UL, 4095UL, 4096UL, 262144UL, 262145UL, 3'000'001UL}) {
        const auto path = write("x", size);
        for (const auto cache : {Cache::keep, Cache::release, Cache::direct}) {
            for (const auto overlap : {Overlap::never, Overlap::always, Overlap::automatic}) {
                for (const auto split : {4_KiB, 1_GiB}) {
                    Reading how;
                    how.cache = cache;
                    how.overlap = overlap;
                    const auto found =
                        sum(path, how, {.threads = 3, .split_min = split, .split_range = 64_KiB, .window = 4}, 8192);
                    ASSERT_EQ(found.status, Status::ok) << (found.failure ? found.failure->text : "");
                    ASSERT_EQ(found.size, size);
                    ASSERT_EQ(found.sums[0], digest::sum(Algorithm::adler32, content_));
                    ASSERT_EQ(found.sums[1], digest::sum(Algorithm::crc32c, content_));
                    ASSERT_EQ(found.sums[2], digest::sum(Algorithm::cksum, content_));
                    ASSERT_EQ(found.blocks.sums.size(), (size + 8191) / 8192);
                    for (std::size_t i = 0; i < found.blocks.sums.size(); ++i) {
                        const auto block =
                            ConstData(content_).subspan(i * 8192, std::min<std::size_t>(8192, size - i * 8192));
                        ASSERT_EQ(found.blocks.sums[i], digest::sum(Algorithm::crc32c, block).number());
                    }
                }
            }
        }
    }
}

TEST_F(SumMany, SumsOfAStreamThatCannotBeStoredAreReported) {
    for (const auto use : {AttributeUse::none, AttributeUse::read, AttributeUse::write, AttributeUse::replace}) {
        FileSum result;
        bool given = false;
        sum_many(
            [&]() -> std::optional<Job> {
                if (std::exchange(given, true)) return std::nullopt;
                Job job;
                job.path = "/dev/null";
                job.algorithms = {Algorithm::adler32};
                job.attributes = use;
                return job;
            },
            [&](FileSum one) { result = std::move(one); }, {}, {}, clock_);
        const bool stores = use == AttributeUse::write || use == AttributeUse::replace;
        EXPECT_EQ(result.status, Status::ok) << (result.failure ? result.failure->text : "");
        EXPECT_EQ(result.attributes.not_stored, stores);
        EXPECT_EQ(result.attributes.warnings.size(), stores ? 1U : 0U);
    }
}

TEST_F(SumMany, Blake3OfABigFileIsThatOfItsRanges) {
    const std::vector<Algorithm> algorithms{Algorithm::blake3, Algorithm::adler32};
    for (const std::size_t size :
         {0UL, 1UL, 4095UL, 4096UL, 4097UL, 8192UL, 65'535UL, 65'536UL, 65'537UL, 262'145UL, 1'000'001UL}) {
        const auto path = write("x", size);
        for (const auto range : {1_KiB, 4_KiB, 64_KiB, 12_KiB}) {  // the last is no subtree: one thread reads the file
            for (const std::uint64_t block : {0U, 4096U, 8192U, 12288U}) {
                const auto found =
                    sum(path, {}, {.threads = 3, .split_min = Bytes(0), .split_range = range, .window = 4}, block,
                        algorithms);
                ASSERT_EQ(found.status, Status::ok) << (found.failure ? found.failure->text : "");
                ASSERT_EQ(found.sums[0], digest::sum(Algorithm::blake3, content_))
                    << size << " in " << range.count() << " with " << block;
                ASSERT_EQ(found.sums[1], digest::sum(Algorithm::adler32, content_));
                ASSERT_EQ(found.blocks.sums.size(), block == 0 ? 0 : (size + block - 1) / block);
            }
        }
    }
}

TEST_F(SumMany, ShortAndInterruptedReadsAreGoneOnWith) {
    const auto path = write("x", 1'000'000);
    FaultySystem system;
    system.interrupted = system.short_reads = true;
    Reading how;
    how.system = &system;
    for (const auto overlap : {Overlap::never, Overlap::always}) {
        how.overlap = overlap;
        const auto found = sum(path, how, {.threads = 1, .split_min = 1_GiB, .split_range = 1_MiB, .window = 4});
        ASSERT_EQ(found.status, Status::ok);
        EXPECT_EQ(found.sums[0], digest::sum(Algorithm::adler32, content_));
    }
}

TEST_F(SumMany, AReadErrorHasItsOffsetAndNoSums) {
    const auto path = write("x", 1'000'000);
    for (const off_t at : {0, 1, 262144, 700'000, 999'999}) {
        FaultySystem system;
        system.fails_at = at;
        Reading how;
        how.system = &system;
        for (const auto overlap : {Overlap::never, Overlap::always}) {
            for (const auto split : {4_KiB, 1_GiB}) {
                how.overlap = overlap;
                const auto found =
                    sum(path, how, {.threads = 2, .split_min = split, .split_range = 64_KiB, .window = 4}, 4096);
                ASSERT_EQ(found.status, Status::error);
                ASSERT_TRUE(found.failure.has_value());
                EXPECT_EQ(found.failure->os_errno, EIO);
                // Of several ranges that fail at once the lowest that was begun is named.
                if (split == 1_GiB) {
                    EXPECT_EQ(found.failure->offset, static_cast<std::uint64_t>(at));
                }
                EXPECT_TRUE(found.sums.empty());
                EXPECT_TRUE(found.blocks.sums.empty());
            }
        }
    }
}

TEST_F(SumMany, AFileThatEndsEarlyIsChangedAndHasNoSums) {
    const auto path = write("x", 1'000'000);
    class Shrinking final : public FileSystem {
    public:
        explicit Shrinking(std::string path) : path_(std::move(path)) {}
        ssize_t pread(int fd, void* to, std::size_t size, off_t offset) override {
            if (offset > 0) std::filesystem::resize_file(path_, 400'000);
            return FileSystem::pread(fd, to, size, offset);
        }
        const std::string path_;
    } system(path);
    Reading how;
    how.system = &system;
    for (const auto split : {1_GiB, 4_KiB}) {
        write("x", 1'000'000);
        const auto found = sum(path, how, {.threads = 2, .split_min = split, .split_range = 64_KiB, .window = 4});
        EXPECT_EQ(found.status, Status::changed);
        EXPECT_TRUE(found.sums.empty());
    }
}

TEST_F(SumMany, OutcomesComeInTheOrderOfTheSource) {
    std::vector<std::string> paths;
    for (int i = 0; i < 300; ++i) paths.push_back(write("f" + std::to_string(i), i % 5 == 0 ? 300'000 : 10));
    std::size_t next = 0, seen = 0;
    sum_many(
        [&]() -> std::optional<Job> {
            if (next == paths.size()) return std::nullopt;
            Job job;
            job.path = paths[next++];
            job.algorithms = {Algorithm::md5};
            return job;
        },
        [&](const FileSum& one) { ASSERT_EQ(one.path, paths[seen++]); }, {},
        {.threads = 4, .split_min = 1_GiB, .split_range = 1_MiB, .window = 16}, clock_);
    EXPECT_EQ(seen, paths.size());
}

/// While it exists this process can make no thread: there is not enough memory for such a stack.
class NoThreads {
public:
    NoThreads() {
        pthread_getattr_default_np(&before_);
        pthread_attr_t huge;
        pthread_getattr_default_np(&huge);
        pthread_attr_setstacksize(&huge, std::size_t{1} << 50U);
        EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
        pthread_attr_destroy(&huge);
    }
    ~NoThreads() {
        pthread_setattr_default_np(&before_);
        pthread_attr_destroy(&before_);
    }

private:
    pthread_attr_t before_;
};

TEST_F(SumMany, WithoutThreadsTheCallerDoesTheWorkAndItIsReported) {
    std::vector<std::string> paths;
    std::vector<std::string> right;
    for (const std::size_t size : {10'000'000UL, 0UL, 5UL, 100'000UL}) {
        paths.push_back(write("f" + std::to_string(size), size));
        right.push_back(digest::sum(Algorithm::md5, content_).hex());
    }
    for (const auto overlap : {Overlap::automatic, Overlap::always}) {
        for (const bool lanes : {true, false}) {
            std::atomic<unsigned> refused{0};
            Reading how;
            how.overlap = overlap;
            how.thread_refused = [&] { ++refused; };
            std::size_t given = 0;
            std::vector<std::string> sums;
            const NoThreads none;
            sum_many(
                [&]() -> std::optional<Job> {
                    if (given == paths.size()) return std::nullopt;
                    Job job;
                    job.path = paths[given++];
                    if (lanes) job.algorithms = {Algorithm::md5};
                    else job.algorithms = {Algorithm::crc32c, Algorithm::md5};
                    return job;
                },
                [&](FileSum one) {
                    EXPECT_EQ(one.status, Status::ok) << one.path;
                    sums.push_back(one.sums.back().hex());
                },
                how, {.threads = 4, .split_min = 1_MiB, .split_range = 256_KiB}, clock_);
            EXPECT_EQ(sums, right);
            EXPECT_GT(refused, 0U);
        }
    }
}

TEST_F(SumMany, AFileThatIsSplitIsSummedWithoutHelpers) {
    const auto path = write("x", 20'000'000);
    const auto right = digest::sum(Algorithm::crc32c, content_).hex();
    const NoThreads none;
    const auto file = sum(path, {}, {.threads = 4, .split_min = 1_MiB, .split_range = 256_KiB}, 0, {Algorithm::crc32c});
    ASSERT_EQ(file.status, Status::ok);
    EXPECT_EQ(file.sums.front().hex(), right);
}

TEST_F(SumMany, AStopEndsTheWorkAndLeavesNoHalfSums) {
    const auto path = write("x", 3'000'000);
    std::atomic<int> pieces{0};
    Reading how;
    how.overlap = Overlap::never;
    how.stop = [&](std::chrono::nanoseconds) { return pieces.load() > 2; };
    how.progress = [&](std::uint64_t) { ++pieces; };
    const auto found = sum(path, how, {.threads = 1, .split_min = 1_GiB, .split_range = 1_MiB, .window = 4});
    EXPECT_EQ(found.status, Status::stopped);
    EXPECT_TRUE(found.sums.empty());
}

}  // namespace
}  // namespace weir::fixity
