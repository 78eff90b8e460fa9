// SPDX-License-Identifier: Apache-2.0
#include "weir/checksum/workers.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "parallel/worker_threads.hpp"
#include "samples.hpp"
#include "weir/checksum/adler32.hpp"
#include "weir/checksum/parallel_adler32.hpp"

namespace weir::checksum {
namespace {

using namespace std::chrono_literals;
using test::random_bytes;

/// True when each of so many pieces was done once.
bool every_piece_once(Workers& workers, std::size_t pieces, bool lasts = true) {
    std::vector<int> done(pieces);
    workers.share(pieces, lasts, [&](std::size_t i) { ++done[i]; });
    return done == std::vector<int>(pieces, 1);
}

/// All workers of a pool, and a caller, in one long job until it is released.
class BusyPool {
public:
    explicit BusyPool(Workers& workers)
        : caller_([this, &workers] {
              workers.share(workers.threads() + 1, true, [this](std::size_t) {
                  ++begun_;
                  released_.wait(false);
              });
          }) {
        while (begun_ < workers.threads() + 1) std::this_thread::yield();
    }
    ~BusyPool() {
        released_ = true;
        released_.notify_all();
    }

private:
    std::atomic<unsigned> begun_{0};
    std::atomic<bool> released_{false};
    std::jthread caller_;  // the last member: it uses the others
};

TEST(Workers, DoEveryPieceOfEveryJobOnce) {
    for (const unsigned threads : {0U, 1U, 4U}) {
        Workers workers({.threads = threads});
        EXPECT_EQ(workers.threads(), threads);
        for (std::size_t pieces = 0; pieces < 200; ++pieces)
            ASSERT_TRUE(every_piece_once(workers, pieces, pieces % 2 == 0)) << pieces << " by " << threads;
    }
}

TEST(Workers, ThatSleepAreWokenForAJobThatLasts) {
    Workers workers({.threads = 1, .spin = 0ns});  // sleeps at once
    for (int job = 0; job < 9; ++job) {
        std::this_thread::sleep_for(job % 3 * 100us);
        std::atomic<int> begun{0};
        workers.share(2, true, [&](std::size_t) {  // each piece ends only when the other one was begun
            ++begun;
            while (begun < 2) std::this_thread::yield();
        });
    }
}

TEST(Workers, ServeSeveralCallersWithDifferentJobsAtOnce) {
    const auto workers = std::make_shared<Workers>(WorkerOptions{.threads = 2, .spin = 5us});
    ParallelAdler32 adler(workers, 1);
    std::atomic<int> wrong{0};
    {
        std::vector<std::jthread> callers;
        for (unsigned caller = 0; caller < 4; ++caller) {
            callers.emplace_back([&, caller] {
                const auto bytes = random_bytes(20'000, caller);
                for (std::size_t round = 0; round < 150; ++round) {
                    const auto data = ConstData(bytes).subspan(round * 7);
                    const bool right = caller % 2 == 0 ? adler(data) == adler32(data)
                                                       : every_piece_once(*workers, round % 40, round % 8 == 0);
                    if (!right) ++wrong;
                }
            });
        }
    }
    EXPECT_EQ(wrong, 0);
}

TEST(Workers, ThatAreAllBusyLeaveACallerToItself) {
    const auto workers = std::make_shared<Workers>(WorkerOptions{.threads = 3});
    ParallelAdler32 adler(workers, 1);
    const auto bytes = random_bytes(100'000, 31);
    const BusyPool busy(*workers);
    EXPECT_TRUE(every_piece_once(*workers, 50));
    EXPECT_EQ(adler(bytes), adler32(bytes));
}

TEST(Workers, MayThemselvesShareWorkOut) {
    Workers workers({.threads = 2});
    std::atomic<int> wrong{0};
    for (int round = 0; round < 30; ++round)
        workers.share(4, true, [&](std::size_t) { wrong += every_piece_once(workers, 10) ? 0 : 1; });
    EXPECT_EQ(wrong, 0);
}

TEST(Workers, CanBeStoppedWhileTheyLookOutAndWhileTheySleep) {
    for (const std::chrono::nanoseconds spin : {0ms, 10ms}) {
        for (int round = 0; round < 6; ++round) {
            Workers workers({.threads = 3, .spin = spin});
            if (round % 3 == 1) {
                EXPECT_TRUE(every_piece_once(workers, 10));
            }
            if (round % 3 == 2) std::this_thread::sleep_for(200us);
        }
    }
}

TEST(Workers, StayBehindInTheProcessThatForks) {
    auto workers = std::make_shared<Workers>(WorkerOptions{.threads = 2});
    auto adler = std::make_unique<ParallelAdler32>(workers, 1);
    const auto bytes = random_bytes(100'000, 32);
    const auto right = adler32(bytes);
    EXPECT_TRUE(every_piece_once(*workers, 20));
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        bool good = workers->threads() == 0 && every_piece_once(*workers, 20) && (*adler)(bytes) == right;
        adler.reset();
        workers.reset();
        Workers of_the_child({.threads = 0});
        good = good && every_piece_once(of_the_child, 20);
        ::_exit(good ? 0 : 1);
    }
    EXPECT_TRUE(every_piece_once(*workers, 20));
    EXPECT_EQ((*adler)(bytes), right);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Workers, ThatCannotBeStartedLeaveEverythingToTheCaller) {
    pthread_attr_t usual, impossible;
    ASSERT_EQ(::pthread_getattr_default_np(&usual), 0);
    ASSERT_EQ(::pthread_attr_init(&impossible), 0);
    ASSERT_EQ(::pthread_attr_setstacksize(&impossible, std::size_t{1} << 50), 0);  // more than there are addresses
    ASSERT_EQ(::pthread_setattr_default_np(&impossible), 0);
    const auto workers = std::make_shared<Workers>(WorkerOptions{.threads = 2, .pin = true});
    ASSERT_EQ(::pthread_setattr_default_np(&usual), 0);
    ::pthread_attr_destroy(&impossible);
    ::pthread_attr_destroy(&usual);

    EXPECT_EQ(workers->threads(), 0U);
    EXPECT_TRUE(every_piece_once(*workers, 20));
    ParallelAdler32 adler(workers, 1);
    EXPECT_EQ(adler.threads(), 0U);
    EXPECT_EQ(adler.cutoff(), ParallelOptions::never);
    const auto bytes = random_bytes(100'000, 33);
    EXPECT_EQ(adler(bytes), adler32(bytes));
}

cpu_set_t allowed_to(std::thread& thread) {
    cpu_set_t allowed;
    EXPECT_EQ(::pthread_getaffinity_np(thread.native_handle(), sizeof allowed, &allowed), 0);
    return allowed;
}

TEST(KeptAway, ForbidsOneProcessorForAsLongAsItLivesButNeverTheLastOne) {
    std::atomic<bool> ended{false};
    std::thread thread([&] { ended.wait(false); });
    const auto all = allowed_to(thread);
    unsigned cpu = 0;
    while (!CPU_ISSET(cpu, &all)) ++cpu;
    {
        const KeptAway away(thread.native_handle(), static_cast<int>(cpu));
        const auto now = allowed_to(thread);
        EXPECT_EQ(CPU_ISSET(cpu, &now) != 0, CPU_COUNT(&all) == 1);
    }
    auto now = allowed_to(thread);
    EXPECT_TRUE(CPU_EQUAL(&now, &all));

    ASSERT_TRUE(pin_thread(thread.native_handle(), static_cast<int>(cpu)));
    {
        const KeptAway nowhere_else(thread.native_handle(), static_cast<int>(cpu));
        now = allowed_to(thread);
        EXPECT_TRUE(CPU_ISSET(cpu, &now));
    }
    ended = true;
    ended.notify_all();
    thread.join();
}

}  // namespace
}  // namespace weir::checksum
