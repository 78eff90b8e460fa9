// SPDX-License-Identifier: Apache-2.0
#include "weir/memory/buffer_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

namespace weir::memory {
namespace {

TEST(BufferPool, ABufferIsAlignedAndAsLargeAsAsked) {
    BufferPool pool(16_MiB);
    for (std::size_t size : {1UL, 4096UL, 4097UL, 1'000'000UL, 5'000'000UL}) {
        const auto buffer = pool.try_take(size);
        ASSERT_TRUE(buffer.has_value());
        EXPECT_EQ(buffer->size(), size);
        EXPECT_GE(buffer->capacity(), size);
        EXPECT_LE(buffer->capacity(), std::max<std::size_t>(4096, size + size / 4 + 4096));
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data().data()) % BufferPool::alignment, 0U);
    }
}

TEST(BufferPool, FullIsAnAnswerAndNeverMoreThanTheLimitIsHeld) {
    BufferPool pool(1_MiB);
    std::vector<Buffer> held;
    while (auto buffer = pool.try_take(100'000)) held.push_back(std::move(*buffer));
    EXPECT_FALSE(pool.try_take(100'000).has_value());
    EXPECT_LE(pool.stats().in_use + pool.stats().kept, 1_MiB);
    EXPECT_GE(held.size(), 8U);
    held.pop_back();
    EXPECT_TRUE(pool.try_take(100'000).has_value());
}

TEST(BufferPool, KeptMemoryOfOneSizeMakesRoomForAnother) {
    BufferPool pool(1_MiB);
    {
        const auto small = pool.try_take(900'000);
    }
    EXPECT_GT(pool.stats().kept, 0_B);
    EXPECT_TRUE(pool.try_take(pool.largest()).has_value());
}

TEST(BufferPool, TheLargestSizeCanBeHadAndOneMoreCannot) {
    BufferPool pool(64_MiB);
    {
        EXPECT_TRUE(pool.try_take(pool.largest()).has_value());
    }
    EXPECT_FALSE(pool.try_take(64 * 1024 * 1024 + 1).has_value());
}

TEST(BufferPool, LargeBuffersBeginAtAHugePageWhateverTheyAreMadeOf) {
    for (const auto huge_pages : {HugePages::none, HugePages::transparent}) {
        BufferPool pool(64_MiB, huge_pages);
        {
            std::vector<Buffer> held;
            for (std::size_t size : {2UL << 20, 5UL << 19, 3UL << 20, 9UL << 20, 4096UL}) {
                auto buffer = pool.try_take(size);
                ASSERT_TRUE(buffer.has_value());
                const std::size_t aligned_to = size > 4096 ? BufferPool::huge_page : BufferPool::alignment;
                EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data().data()) % aligned_to, 0U);
                std::ranges::fill(buffer->data(), std::byte{7});
                held.push_back(std::move(*buffer));
            }
            const auto stats = pool.stats();
            EXPECT_LE(stats.transparent, stats.in_use);
            if (huge_pages == HugePages::none) {
                EXPECT_EQ(stats.transparent, 0_B);
            }
        }
        {
            EXPECT_TRUE(pool.try_take(pool.largest()).has_value());
        }  // the others are unmapped for it
        EXPECT_LE(pool.stats().transparent, pool.stats().kept);
    }
}

TEST(BufferPool, WhatNoMemoryHoldsIsRefusedAlsoWithoutALimit) {
    BufferPool pool(Bytes{~std::uint64_t{0}});
    for (const std::size_t size :
         {~std::size_t{0}, ~std::size_t{0} - 4096, ~std::size_t{0} >> 1U, std::size_t{1} << 45U}) {
        EXPECT_FALSE(pool.try_take(size).has_value()) << size;
    }
    EXPECT_EQ(pool.stats().in_use, 0_B);
    EXPECT_TRUE(pool.try_take(1).has_value());
}

TEST(BufferPool, ARefusedCallerIsNotifiedOfTheNextReleasedBufferOnce) {
    BufferPool pool(8_KiB);
    int calls = 0;
    const auto ticket = pool.subscribe([&] { ++calls; });
    auto a = pool.try_take(8192);
    a->release();
    EXPECT_EQ(calls, 0);
    a = pool.try_take(8192);
    EXPECT_FALSE(pool.try_take(1).has_value());
    a->release();
    EXPECT_EQ(calls, 1);
    pool.unsubscribe(ticket);
    a = pool.try_take(8192);
    EXPECT_FALSE(pool.try_take(1).has_value());
    a->release();
    EXPECT_EQ(calls, 1);
}

TEST(BufferPool, BuffersThatAreReleasedTogetherAreFreeAndNotifiedOnce) {
    BufferPool pool(16_KiB);
    int calls = 0;
    const auto ticket = pool.subscribe([&] { ++calls; });
    std::vector<Buffer> all;
    for (int i = 0; i < 4; ++i) all.push_back(pool.try_take(4096).value());
    all.emplace_back();  // holds none
    EXPECT_FALSE(pool.try_take(1).has_value());
    pool.release(all);
    EXPECT_EQ(calls, 1);
    EXPECT_FALSE(all[0]);
    EXPECT_EQ(pool.stats().in_use, 0_KiB);
    EXPECT_TRUE(pool.try_take(16384).has_value());
    pool.unsubscribe(ticket);
}

TEST(BufferPoolDeathTest, APoolThatEndsBeforeItsBuffersStopsTheProgram) {
    EXPECT_DEATH(
        {
            std::optional<Buffer> buffer;
            BufferPool pool(1_MiB);
            buffer = pool.try_take(10);
        },
        "a BufferPool ends while buffers of 4096 bytes .* destroy or release them first");
}

TEST(BufferPool, BuffersReleasedByOtherThreadsAreReused) {
    BufferPool pool(4_MiB);
    std::vector<std::jthread> threads;
    for (unsigned seed = 0; seed < 4; ++seed) {
        threads.emplace_back([&pool, seed] {
            std::mt19937 random(seed);
            for (int i = 0; i < 2000; ++i) {
                auto buffer = pool.try_take(random() % 500'000 + 1);
                if (!buffer) continue;
                buffer->data()[0] = std::byte{1};
                if (random() % 8 == 0) std::jthread([taken = std::move(*buffer)]() mutable { taken.release(); });
            }
        });
    }
    threads.clear();
    EXPECT_EQ(pool.stats().in_use, 0_B);
    EXPECT_LE(pool.stats().kept, 4_MiB);
}

}  // namespace
}  // namespace weir::memory
