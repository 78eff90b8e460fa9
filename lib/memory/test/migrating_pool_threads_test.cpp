// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <latch>
#include <list>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "weir/base/testing/number_in_environment.hpp"
#include "weir/memory/migrating_pool.hpp"

namespace weir::memory {
namespace {

constexpr std::size_t size = 48;
constexpr std::uint64_t batch = 512;

std::vector<void*> taken(MigratingPool& pool, std::size_t count) {
    std::vector<void*> blocks(count);
    for (auto& block : blocks) block = pool.try_take(size);
    return blocks;
}
void release(MigratingPool& pool, const std::vector<void*>& blocks) {
    for (void* block : blocks) pool.release(block, size);
}
void in_a_thread(auto work) { std::jthread(std::move(work)).join(); }

// Four threads take and free at random. The first two leave half of what they take to the others.
class RandomExchange {
public:
    explicit RandomExchange(std::uint32_t seed) : seed_(seed) {
        std::vector<std::jthread> threads;
        for (unsigned thread = 0; thread < 4; ++thread) threads.emplace_back([this, thread] { work(thread); });
    }
    MigratingPool pool{{.batch = 8}};  // many corrections
    std::atomic<std::uint32_t> taken{0};
    std::atomic<int> damaged{0};

private:
    struct Held {
        std::uint32_t* data;
        std::size_t words, alignment;
        std::uint32_t mark;
    };

    Held take(std::mt19937& random) {
        const std::size_t words = 1 + random() % (random() % 64 == 0 ? 3000 : 40);
        const std::size_t alignment = std::size_t{4} << random() % 6;
        auto* const data = static_cast<std::uint32_t*>(pool.try_take(words * 4, alignment));
        if (reinterpret_cast<std::uintptr_t>(data) % alignment != 0) ++damaged;
        const auto mark = taken.fetch_add(1) + 1;
        std::fill_n(data, words, mark);
        return {data, words, alignment, mark};
    }
    void release(const Held& held) {
        const bool intact =
            std::all_of(held.data, held.data + held.words, [&](auto word) { return word == held.mark; });
        if (!intact) ++damaged;
        pool.release(held.data, held.words * 4, held.alignment);
    }
    bool leave(const Held& held) {
        const std::scoped_lock lock(mutex_);
        if (exchange_.size() >= 500) return false;
        exchange_.push_back(held);
        return true;
    }
    std::optional<Held> find(bool& more) {
        const std::scoped_lock lock(mutex_);
        more = makers_ > 0 || !exchange_.empty();
        if (exchange_.empty()) return std::nullopt;
        const Held held = exchange_.back();
        exchange_.pop_back();
        return held;
    }
    void work(unsigned thread) {
        std::mt19937 random(seed_ + thread);
        std::vector<Held> mine;
        bool more = true;
        for (int i = 0; thread < 2 ? i < 8000 : more; ++i) {
            if (random() % 2 == 0) mine.push_back(take(random));
            if (thread >= 2) {
                if (const auto held = find(more)) mine.push_back(*held);
            } else if (!mine.empty() && random() % 2 == 0) {
                while (!leave(mine.back())) std::this_thread::yield();
                mine.pop_back();
            }
            while (!mine.empty() && (mine.size() > 300 || random() % 2 == 0)) {
                std::swap(mine[random() % mine.size()], mine.back());
                release(mine.back());
                mine.pop_back();
            }
        }
        for (const auto& held : mine) release(held);
        if (thread < 2) {
            const std::scoped_lock lock(mutex_);
            --makers_;
        }
    }

    const std::uint32_t seed_;
    std::mutex mutex_;
    std::vector<Held> exchange_;
    int makers_ = 2;
};

TEST(MigratingPoolThreads, NoBlockIsHandedOutTwiceAndContentsStayUnderRandomExchange) {
    const auto seed = testing::drawn_seed();
    SCOPED_TRACE(testing::again(seed));
    const RandomExchange exchange(static_cast<std::uint32_t>(seed));
    const auto stats = exchange.pool.stats();
    EXPECT_EQ(exchange.damaged, 0);
    EXPECT_EQ(stats.allocations, exchange.taken);
    EXPECT_EQ(stats.frees, stats.allocations);
    EXPECT_GT(stats.corrections, 0U);
}

TEST(MigratingPoolThreads, NothingIsCorrectedWhileNothingMigrates) {
    MigratingPool pool;
    {
        std::vector<std::jthread> threads;
        for (unsigned thread = 0; thread < 4; ++thread) {
            threads.emplace_back([&pool, thread] {
                std::mt19937 random(thread);
                for (int round = 0; round < 20; ++round) release(pool, taken(pool, random() % 10'000));
            });
        }
    }
    EXPECT_EQ(pool.stats().corrections, 0U);
    EXPECT_EQ(pool.stats().batches_taken, 0U);
}

TEST(MigratingPoolThreads, ThreadsThatInheritFromEndedOnesWorkPrivatelyToo) {
    MigratingPool pool;
    for (int generation = 0; generation < 5; ++generation) in_a_thread([&] { release(pool, taken(pool, 10'000)); });
    EXPECT_EQ(pool.stats().corrections, 0U);
    EXPECT_LE(pool.stats().from_upstream, 1_MiB);
}

TEST(MigratingPoolThreads, AThreadThatOnlyFreesHandsOverOneBatchPerBatch) {
    MigratingPool pool;
    constexpr std::size_t rounds = 20;
    constexpr std::size_t per_round = 5000;
    std::vector<void*> blocks;
    std::atomic<int> turn{0};
    std::jthread consumer([&] {
        for (std::size_t round = 0; round < rounds; ++round) {
            turn.wait(0);
            release(pool, blocks);
            turn = 0;
            turn.notify_all();
        }
    });
    Bytes after_two;
    for (std::size_t round = 0; round < rounds; ++round) {
        blocks = taken(pool, per_round);
        turn = 1;
        turn.notify_all();
        turn.wait(1);
        if (round == 1) after_two = pool.stats().from_upstream;
    }
    consumer.join();
    const auto stats = pool.stats();
    EXPECT_NEAR(static_cast<double>(stats.corrections), rounds * per_round / batch, 2);
    EXPECT_NEAR(static_cast<double>(stats.batches_taken), (rounds - 1) * per_round / batch, 4);
    EXPECT_EQ(stats.from_upstream, after_two);  // memory does not grow
    EXPECT_EQ(stats.allocations, rounds * per_round);
    EXPECT_EQ(stats.frees, rounds * per_round);
}

TEST(MigratingPoolThreads, ProducerAndConsumerChangePlacesAndMemoryStays) {
    MigratingPool pool;
    Bytes early;
    for (int round = 0; round < 40; ++round) {
        std::vector<void*> blocks;
        if (round % 20 < 10) {
            blocks = taken(pool, 3000);
            in_a_thread([&] { release(pool, blocks); });
        } else {
            in_a_thread([&] { blocks = taken(pool, 3000); });
            release(pool, blocks);
        }
        if (round == 12) early = pool.stats().from_upstream;
    }
    EXPECT_EQ(pool.stats().from_upstream, early);
}

TEST(MigratingPoolThreads, ThreadsThatComeAndGoLeaveTheirMemoryToTheNext) {
    MigratingPool pool;
    for (int i = 0; i < 300; ++i) {
        in_a_thread([&] {
            for (std::size_t bytes = 16; bytes <= 8192; bytes *= 2) pool.release(pool.try_take(bytes), bytes);
            release(pool, taken(pool, 100));
        });
    }
    EXPECT_LE(pool.stats().from_upstream, 1_MiB);
    EXPECT_EQ(pool.stats().threads, 0U);
    EXPECT_EQ(pool.stats().caches, 1U);
}

TEST(MigratingPoolThreads, WhatAnEndedThreadTookIsFreedByOthers) {
    MigratingPool pool;
    std::vector<void*> blocks;
    for (int i = 0; i < 50; ++i) {
        in_a_thread([&] { blocks = taken(pool, 2000); });
        release(pool, blocks);
    }
    EXPECT_LE(pool.stats().from_upstream, 1_MiB);
    EXPECT_EQ(pool.stats().frees, 100'000U);
}

TEST(MigratingPoolThreads, AThreadEndsWhileAnotherStillFreesWhatItTook) {
    MigratingPool pool;
    for (int i = 0; i < 20; ++i) {
        std::vector<void*> blocks;
        std::latch given(1);
        std::jthread maker([&] {
            blocks = taken(pool, 3000);
            given.count_down();
        });
        given.wait();
        release(pool, blocks);  // beside the maker's end
    }
    EXPECT_EQ(pool.stats().frees, 60'000U);
}

TEST(MigratingPoolThreads, ThePoolMayEndBeforeItsThreads) {
    std::optional<MigratingPool> pool(std::in_place);
    std::latch used(4);
    std::latch gone(1);
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            release(*pool, taken(*pool, 1000));
            used.count_down();
            gone.wait();
            MigratingPool own;  // finds none of the other's blocks
            release(own, taken(own, 10));
            EXPECT_EQ(own.stats().allocations, 10U);
        });
    }
    used.wait();
    pool.reset();
    gone.count_down();
}

TEST(MigratingPoolThreads, ThreadsAndPoolEndAtTheSameTime) {
    for (int i = 0; i < 50; ++i) {
        std::optional<MigratingPool> pool(std::in_place);
        std::latch used(2);
        std::vector<std::jthread> threads;
        for (int thread = 0; thread < 2; ++thread) {
            threads.emplace_back([&] {
                release(*pool, taken(*pool, 100));
                used.count_down();
            });
        }
        used.wait();
        pool.reset();
    }
}

MigratingPool& long_lived() {
    static MigratingPool pool;
    return pool;
}

TEST(MigratingPoolThreads, ObjectsOfAThreadMayFreeAfterTheThreadReleasedItsCache) {
    const auto before = long_lived().stats();
    in_a_thread([] {
        // Made before the thread's first block, so it is destroyed after the thread's cache was released.
        static thread_local std::list<int, MigratingAllocator<int>> late{MigratingAllocator<int>(long_lived())};
        for (int i = 0; i < 3000; ++i) late.push_back(i);
    });
    const auto after = long_lived().stats();
    EXPECT_EQ(after.frees - before.frees, 3000U);
    EXPECT_EQ(after.threads, before.threads);
    in_a_thread([] { release(long_lived(), taken(long_lived(), 3000)); });
    EXPECT_LE(long_lived().stats().from_upstream, 1_MiB);
}

TEST(MigratingPoolThreads, AtTheLimitWhatAnotherThreadFreesIsFound) {
    std::set<std::uint32_t> caches;
    for (std::size_t limit = 256 << 10; limit < 274 << 10; limit += 256) {  // more or less is left for other things
        SCOPED_TRACE(limit);
        MigratingPool pool({.limit = Bytes{limit}, .chunk = Bytes{limit}});
        const auto all = [&pool] {
            std::vector<void*> blocks;
            while (void* block = pool.try_take(size)) blocks.push_back(block);
            return blocks;
        };
        const auto blocks = all();
        std::latch freed(1);
        std::latch looked(1);
        std::jthread consumer([&] {
            release(pool, blocks);
            freed.count_down();
            looked.wait();
        });
        freed.wait();
        const auto again = all();
        // What a living thread keeps is less than two batches; without a cache it keeps nothing.
        const bool keeps = pool.stats().threads == 2;
        EXPECT_GE(again.size() + (keeps ? 2 * batch - 1 : 0), blocks.size());
        caches.insert(pool.stats().threads);
        looked.count_down();
        consumer.join();
        release(pool, again);
        const auto last = all();
        EXPECT_EQ(last.size(), blocks.size());
        release(pool, last);
    }
    EXPECT_EQ(caches.size(), 2U);  // both have been seen
}

}  // namespace
}  // namespace weir::memory
