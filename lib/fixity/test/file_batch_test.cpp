// SPDX-License-Identifier: Apache-2.0
// Files whose sums share lanes: their sums equal those of files that are read alone.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <random>
#include <set>

#include "weir/base/stoppable_sleep.hpp"
#include "weir/digest/summer.hpp"
#include "weir/fixity/rate_limit.hpp"
#include "weir/fixity/sum_many.hpp"

namespace weir::fixity {
namespace {

using digest::Algorithm;

/// Does something else than to read when a file of the name is read from an offset on.
class Interfering final : public FileSystem {
public:
    using Action = std::function<bool(off_t offset)>;  // false: the read fails
    Interfering(std::string name, Action action) : name_(std::move(name)), action_(std::move(action)) {}

    int open(const char* path, int flags, mode_t mode) override {
        const std::scoped_lock lock(mutex_);
        const int fd = FileSystem::open(path, flags, mode);
        if (std::filesystem::path(path).filename() == name_) chosen_.insert(fd);
        return fd;
    }
    int close(int fd) override {
        const std::scoped_lock lock(mutex_);
        chosen_.erase(fd);
        return FileSystem::close(fd);
    }
    ssize_t pread(int fd, void* to, std::size_t size, off_t offset) override {
        {
            const std::scoped_lock lock(mutex_);
            if (chosen_.contains(fd) && !action_(offset)) return errno = EIO, -1;
        }
        return FileSystem::pread(fd, to, size, offset);
    }

private:
    const std::string name_;
    const Action action_;
    std::mutex mutex_;
    std::set<int> chosen_;
};

class FileBatches : public testing::Test {
protected:
    FileBatches() : folder_(std::filesystem::temp_directory_path() / ("weir-batches-" + std::to_string(::getpid()))) {
        std::filesystem::create_directories(folder_);
    }
    ~FileBatches() override { std::filesystem::remove_all(folder_); }

    void write(std::size_t size) {
        std::mt19937_64 random(contents_.size());
        auto& content = contents_.emplace_back(size);
        for (auto& byte : content) byte = static_cast<std::byte>(random());
        paths_.push_back((folder_ / std::to_string(paths_.size())).native());
        std::ofstream(paths_.back(), std::ios::binary) << as_text(content);
    }

    /// Around the borders of blocks of sums, reading and the lanes; one much larger than the others in their midst.
    void write_many() {
        for (int i = 0; i < 4; ++i) {
            for (const std::size_t size :
                 {0UL, 1UL, 55UL, 56UL, 64UL, 4096UL, 32'767UL, 32'768UL, 32'769UL, 65'536UL, 100'000UL, 300'001UL})
                write(size);
            if (i == 1) write(5'000'000);
        }
    }

    using Change = std::function<void(Job& job, std::size_t index)>;
    std::vector<FileSum> sum(const std::vector<Algorithm>& algorithms, const Reading& how, const Parallel& parallel,
                             const Change& change = {}) const {
        std::vector<FileSum> results;
        std::size_t next = 0;
        sum_many(
            [&]() -> std::optional<Job> {
                if (next == paths_.size()) return std::nullopt;
                Job job;
                job.path = paths_[next];
                job.algorithms = algorithms;
                if (change) change(job, next);
                ++next;
                return job;
            },
            [&](FileSum one) { results.push_back(std::move(one)); }, how, parallel, clock_);
        return results;
    }

    void expect_right(const FileSum& found, std::size_t index, const std::vector<Algorithm>& algorithms) const {
        ASSERT_EQ(found.path, paths_[index]);
        ASSERT_EQ(found.status, Status::ok) << index << (found.failure ? found.failure->text : "");
        ASSERT_EQ(found.size, contents_[index].size());
        ASSERT_EQ(found.sums.size(), algorithms.size());
        for (std::size_t i = 0; i < algorithms.size(); ++i)
            ASSERT_EQ(found.sums[i], digest::sum(algorithms[i], contents_[index]))
                << index << " " << digest::name(algorithms[i]);
    }

    const std::filesystem::path folder_;
    std::vector<std::string> paths_;
    std::vector<std::vector<std::byte>> contents_;
    const SystemClock clock_;
};

TEST_F(FileBatches, AnySumsOfManyFilesOfAnySizeAreThoseOfEachAlone) {
    write_many();
    for (const auto& algorithms :
         {std::vector{Algorithm::md5}, std::vector{Algorithm::sha256},
          std::vector{Algorithm::crc32c, Algorithm::sha1, Algorithm::adler32, Algorithm::md5}}) {
        for (const auto cache : {Cache::keep, Cache::release, Cache::direct}) {
            for (const auto overlap : {Overlap::never, Overlap::always, Overlap::automatic}) {
                for (const unsigned threads : {1U, 3U}) {
                    if (threads == 1 && cache != Cache::keep) continue;  // covers nothing new
                    Reading how;
                    how.cache = cache;
                    how.overlap = overlap;
                    std::atomic<std::uint64_t> bytes{0};
                    how.progress = [&](std::uint64_t more) { bytes += more; };
                    const auto found = sum(algorithms, how, {.threads = threads, .window = threads == 1 ? 1024U : 7U},
                                           [](Job& job, std::size_t i) { job.block = i % 3 == 0 ? 8192 : 0; });
                    ASSERT_EQ(found.size(), paths_.size());
                    std::uint64_t all = 0;
                    for (std::size_t i = 0; i < found.size(); ++i) {
                        expect_right(found[i], i, algorithms);
                        all += contents_[i].size();
                        ASSERT_EQ(found[i].blocks.sums.size(), i % 3 == 0 ? (contents_[i].size() + 8191) / 8192 : 0);
                        if (!found[i].blocks.sums.empty()) {
                            const auto last = (found[i].blocks.sums.size() - 1) * 8192;
                            ASSERT_EQ(found[i].blocks.sums.back(),
                                      digest::sum(Algorithm::crc32c, ConstData(contents_[i]).subspan(last)).number());
                        }
                    }
                    EXPECT_EQ(bytes, all);
                }
            }
        }
    }
}

TEST_F(FileBatches, FilesOfDifferentAlgorithmsComeInOrder) {
    for (std::size_t i = 0; i < 400; ++i) write(i % 7 * 1000);
    const std::vector<std::vector<Algorithm>> lists{
        {Algorithm::md5}, {Algorithm::crc32c}, {Algorithm::sha1}, {Algorithm::sha1, Algorithm::md5}, {}};
    const auto list_of = [&](std::size_t i) { return lists[i < 100 ? 0 : i * i % lists.size()]; };
    for (const std::size_t window : {1U, 16U, 1024U}) {
        const auto found = sum({}, {}, {.threads = 2, .window = window},
                               [&](Job& job, std::size_t i) { job.algorithms = list_of(i); });
        ASSERT_EQ(found.size(), paths_.size());
        for (std::size_t i = 0; i < found.size(); ++i) expect_right(found[i], i, list_of(i));
    }
}

TEST_F(FileBatches, AReadErrorIsThatOfOneFile) {
    write_many();
    for (const off_t at : {0, 32'768, 65'536}) {
        Interfering system("10", [at](off_t offset) { return offset < at; });
        Reading how;
        how.system = &system;
        how.piece = 32_KiB;  // as in a batch, where a processor or a sanitizer makes lanes too slow for one
        const auto found = sum({Algorithm::md5, Algorithm::adler32}, how, {.threads = 1});
        ASSERT_EQ(found.size(), paths_.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            if (i != 10) {
                expect_right(found[i], i, {Algorithm::md5, Algorithm::adler32});
                continue;
            }
            EXPECT_EQ(found[i].status, Status::error);
            EXPECT_EQ(found[i].failure, (Failure{static_cast<std::uint64_t>(at), EIO, std::strerror(EIO)}));
            EXPECT_TRUE(found[i].sums.empty());
        }
    }
}

TEST_F(FileBatches, AFileThatIsChangedMeanwhileIsTheOnlyOneWithoutASum) {
    write_many();
    for (const std::uintmax_t becomes : {0U, 40'000U, 65'536U, 200'000U}) {  // the file has 100'000 bytes
        const auto path = paths_[10];
        Interfering system("10", [&](off_t offset) {
            if (offset > 0) std::filesystem::resize_file(path, becomes);
            return true;
        });
        Reading how;
        how.system = &system;
        how.piece = 32_KiB;  // as in a batch, where a processor or a sanitizer makes lanes too slow for one
        const auto found = sum({Algorithm::sha1}, how, {.threads = 2});
        ASSERT_EQ(found.size(), paths_.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            if (i != 10) {
                expect_right(found[i], i, {Algorithm::sha1});
            } else {
                EXPECT_EQ(found[i].status, Status::changed);
                EXPECT_TRUE(found[i].sums.empty());
            }
        }
        std::ofstream(path, std::ios::binary) << as_text(contents_[10]);
    }
}

TEST_F(FileBatches, WhatAManifestExpectsIsChecked) {
    write_many();
    const auto found = sum({}, {}, {.threads = 1}, [&](Job& job, std::size_t i) {
        job.origin = Origin::listed;
        job.expected = std::make_unique<ManifestEntry>();
        const auto right = digest::sum(Algorithm::md5, contents_[i]);
        const auto wrong = digest::sum(Algorithm::md5, as_data("something else"));
        auto& claims = i % 2 == 0 ? job.expected->sums : job.expected->one_of;
        claims.push_back(i % 5 == 0 ? wrong : right);
        if (i == 12) job.path += "-gone";
    });
    ASSERT_EQ(found.size(), paths_.size());
    for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_EQ(found[i].status, i == 12 ? Status::missing : i % 5 == 0 ? Status::mismatch : Status::ok) << i;
}

TEST_F(FileBatches, AStopEndsAllThatAreInWork) {
    write_many();
    for (const unsigned threads : {1U, 2U}) {
        std::atomic<int> blocks{0};
        Reading how;
        how.stop = [&](std::chrono::nanoseconds) { return blocks.load() > 60; };
        how.piece = 32_KiB;  // as in a batch, where a processor or a sanitizer makes lanes too slow for one
        how.progress = [&](std::uint64_t) { ++blocks; };
        const auto found = sum({Algorithm::md5}, how, {.threads = threads});
        EXPECT_FALSE(found.empty());
        EXPECT_TRUE(std::ranges::any_of(found, [](const FileSum& one) { return one.status == Status::stopped; }));
        for (std::size_t i = 0; i < found.size(); ++i) {
            if (found[i].status == Status::stopped) {
                EXPECT_TRUE(found[i].sums.empty());
            } else {
                expect_right(found[i], i, {Algorithm::md5});
            }
        }
    }
}

TEST_F(FileBatches, EveryByteIsTakenFromTheRate) {
    for (int i = 0; i < 20; ++i) write(10'000);
    const ManualClock standing;
    RateLimit limit(standing, 20_MiB);
    Reading how;
    how.limit = &limit;
    for (const auto& one : sum({Algorithm::md5}, how, {.threads = 1})) EXPECT_EQ(one.status, Status::ok);
    const std::chrono::duration<double> due = limit.take(1);  // the next one waits for those before
    EXPECT_NEAR(due.count(), 200'000. / (20 << 20), 1e-6);
}

TEST_F(FileBatches, AStopEndsTheWaitForTheRateAtOnce) {
    write(10'000);
    const ManualClock standing;
    RateLimit limit(standing, Bytes{1});
    ASSERT_EQ(limit.take(3600).count(), 0);  // the next byte is due in an hour
    std::stop_source source;
    Reading how;
    how.limit = &limit;
    how.stop = [&](std::chrono::nanoseconds at_most) {
        if (at_most > std::chrono::minutes{1}) source.request_stop();
        return !stoppable_sleep(at_most, source.get_token());
    };
    const auto begin = std::chrono::steady_clock::now();
    const auto found = sum({Algorithm::md5}, how, {.threads = 1});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found.front().status, Status::stopped);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::minutes{1});
}

TEST_F(FileBatches, WhatIsNoFileOrColdIsReadAloneWhereverItStands) {
    write_many();
    for (const auto& path : paths_) {  // out of the page cache, where the file system has one
        const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        ASSERT_GE(fd, 0);
        ::fsync(fd);
        ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        ::close(fd);
    }
    const std::string made_while_read = "/proc/version";
    std::ifstream file(made_while_read, std::ios::binary);
    const std::string version{std::istreambuf_iterator<char>(file), {}};
    for (const std::size_t at : {0U, 7U, 20U}) {
        paths_.insert(paths_.begin() + static_cast<std::ptrdiff_t>(at), made_while_read);
        contents_.emplace(contents_.begin() + static_cast<std::ptrdiff_t>(at), as_data(version).begin(),
                          as_data(version).end());
    }
    for (const auto cache : {Cache::release, Cache::keep}) {
        Reading how;
        how.cache = cache;
        const auto found = sum({Algorithm::md5}, how, {.threads = 2});
        ASSERT_EQ(found.size(), paths_.size());
        for (std::size_t i = 0; i < found.size(); ++i) expect_right(found[i], i, {Algorithm::md5});
    }
}

TEST_F(FileBatches, NoMoreFilesAreOpenThanTheProcessMayHave) {
    for (int i = 0; i < 100; ++i) write(40'000);
    struct rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit few{.rlim_cur = 40, .rlim_max = before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    const auto found = sum({Algorithm::md5}, {}, {.threads = 4});
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    ASSERT_EQ(found.size(), paths_.size());
    for (std::size_t i = 0; i < found.size(); ++i) expect_right(found[i], i, {Algorithm::md5});
}

}  // namespace
}  // namespace weir::fixity
