// SPDX-License-Identifier: Apache-2.0
// How fast one stream is recorded on three disks that write 100 MB/s each, with one, two and three files open. The
// disks are folders of which each write takes as long as it would take there; they lie where WEIR_BENCH_DIRECTORY says,
// or where temporary files do. WEIR_BENCH_EVENTS of 1 MiB are recorded: 400 for a figure, and few where it shall only
// run.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "weir/base/file.hpp"
#include "weir/delivery/sender.hpp"
#include "weir/recorder/recorder.hpp"

namespace {

using namespace weir;
using namespace weir::recorder;

constexpr double bytes_per_second = 100e6;  // of a disk
constexpr std::uint64_t event_size = 1 << 20;

std::uint32_t events_of_bench() {
    const char* given = std::getenv("WEIR_BENCH_EVENTS");
    return given != nullptr ? static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10)) : 24;
}

/// Writes of files in the same folder follow one another, at the rate of a disk.
class SlowDisks final : public FileSystem {
public:
    int open(const char* path, int flags, mode_t mode) override {
        const int fd = FileSystem::open(path, flags, mode);
        const std::scoped_lock lock(mutex_);
        folder_of_[fd] = std::filesystem::path(path).parent_path();
        return fd;
    }
    ssize_t pwrite(int fd, const void* from, std::size_t size, off_t offset) override {
        const auto took =
            std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>(size) / bytes_per_second * 1e9));
        std::chrono::steady_clock::time_point done;
        {
            const std::scoped_lock lock(mutex_);
            auto& free_at = free_at_[folder_of_[fd]];
            done = free_at = std::max(free_at, std::chrono::steady_clock::now()) + took;
        }
        const auto written = FileSystem::pwrite(fd, from, size, offset);
        std::this_thread::sleep_until(done);
        return written;
    }
    int fdatasync(int) override { return 0; }  // the machine's own disk is not what is measured

private:
    std::mutex mutex_;
    std::map<int, std::filesystem::path> folder_of_;
    std::map<std::filesystem::path, std::chrono::steady_clock::time_point> free_at_;
};

std::filesystem::path own_directory() {
    const char* named = std::getenv("WEIR_BENCH_DIRECTORY");
    std::string pattern = ((named != nullptr ? std::filesystem::path(named) : std::filesystem::temp_directory_path()) /
                           "weir-files-XXXXXX")
                              .string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a directory " + pattern);
    return pattern;
}

void one_stream_on_three_disks(benchmark::State& state) {
    const std::vector<std::byte> payload(event_size, std::byte{0x5a});
    const SystemClock clock;
    const auto events = events_of_bench();
    for (auto _ : state) {
        state.PauseTiming();
        const auto directory = own_directory();
        SlowDisks disks;
        RecorderOptions options;
        options.directories = {directory / "1", directory / "2", directory / "3"};
        options.create_directories = true;
        options.run = RunNumber{1};
        options.direct = DirectIo::off;
        options.memory = 256_MiB;
        options.receiver.event_size_max = 4_MiB;
        options.streams_max = 4;
        options.files_per_stream = static_cast<std::uint32_t>(state.range(0));
        auto recorder = Recorder::open(options, {}, clock, disks);
        if (!recorder) throw std::runtime_error(recorder.error().message());
        (*recorder)->start();
        state.ResumeTiming();

        delivery::SenderOptions to;
        to.host = "127.0.0.1:" + std::to_string((*recorder)->port());
        to.name = "bench";
        to.run = *options.run;
        to.format = wire::EventFormat::opaque;
        auto sender = delivery::Sender::open(to).value();
        const auto tag = parse_stream_key("physics_Main").value();
        for (std::uint32_t n = 1; n <= events; ++n) {
            if (const auto sent = sender->send({GlobalEventId{n}, Level1Id{n}, LumiBlock{1}, {tag}}, payload); !sent)
                throw std::runtime_error(sent.error().message());
        }
        if (!sender->flush(std::chrono::minutes{10}).value()) throw std::runtime_error("not all events have an answer");

        state.PauseTiming();
        if (const auto stopped = (*recorder)->stop(std::chrono::minutes{10}); !stopped)
            throw std::runtime_error(stopped.error().message());
        recorder->reset();
        std::filesystem::remove_all(directory);
        state.ResumeTiming();
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(event_size * events) * state.iterations());
}
BENCHMARK(one_stream_on_three_disks)->DenseRange(1, 3)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(1);

}  // namespace

BENCHMARK_MAIN();
