// SPDX-License-Identifier: Apache-2.0
#include "weir/memory/arena.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <list>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "weir/base/testing/number_in_environment.hpp"

namespace weir::memory {
namespace {

TEST(Arena, WhatIsTakenIsAlignedAndDoesNotOverlapBeforeAndAfterResets) {
    const auto seed = testing::drawn_seed();
    SCOPED_TRACE(testing::again(seed));
    std::mt19937 random(seed);
    Arena arena({.chunk = 4_KiB, .keep = 1_MiB});
    for (int event = 0; event < 50; ++event) {
        std::map<char*, std::size_t> held;
        std::size_t sum = 0;
        for (int i = 0; i < 200; ++i) {
            const std::size_t size = random() % (random() % 20 == 0 ? 50'000 : 200);
            const std::size_t alignment = std::size_t{1} << random() % 13;
            auto* const data = static_cast<char*>(arena.try_take(size, alignment));
            ASSERT_NE(data, nullptr);
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(data) % alignment, 0U);
            std::memset(data, 0x5a, size);
            sum += size;
            if (size > 0) {
                ASSERT_TRUE(held.emplace(data, size).second);
            }
        }
        for (auto at = held.begin(); std::next(at) != held.end(); ++at) {
            ASSERT_LE(at->first + at->second, std::next(at)->first);
        }
        EXPECT_GE(arena.stats().in_use.count(), sum);
        arena.reset();
        EXPECT_EQ(arena.stats().in_use, 0_B);
    }
    EXPECT_EQ(arena.stats().taken, 50U * 200U);
    EXPECT_EQ(arena.stats().resets, 50U);
}

TEST(Arena, ServesEventAfterEventFromTheSameChunks) {
    Arena arena;
    const auto event = [&arena] {
        {
            std::pmr::list<int> list(&arena);
            std::pmr::map<int, std::pmr::string> map(&arena);
            for (int i = 0; i < 3000; ++i) {
                list.push_back(i);
                map[i] = "a string that does not fit in place, and so is taken from the arena too";
            }
            EXPECT_EQ(map.size(), 3000U);
        }
        arena.reset();
    };
    event();
    const auto warm = arena.stats();
    for (int i = 0; i < 20; ++i) event();
    EXPECT_EQ(arena.stats().chunks, warm.chunks);
    EXPECT_EQ(arena.stats().from_upstream, warm.from_upstream);
    EXPECT_EQ(arena.stats().in_use_max, warm.in_use_max);
}

TEST(Arena, ALargeEventIsNotHeldForEver) {
    Arena arena({.chunk = 64_KiB, .keep = 256_KiB});
    EXPECT_NE(arena.try_take(10), nullptr);
    EXPECT_NE(arena.try_take(10'000'000), nullptr);
    EXPECT_GE(arena.stats().from_upstream, 10'000'000_B);
    arena.reset();
    EXPECT_LE(arena.stats().from_upstream, 256_KiB);
    EXPECT_GE(arena.stats().in_use_max, 10'000'000_B);
}

TEST(Arena, AtItsLimitItRefusesAndResetMakesRoom) {
    Arena arena({.chunk = 64_KiB, .keep = 1_MiB, .limit = 1_MiB});
    std::size_t count = 0;
    while (arena.try_take(1000) != nullptr) ++count;
    EXPECT_GT(count, 950U);
    EXPECT_LE(arena.stats().from_upstream, 1_MiB);
    EXPECT_EQ(arena.stats().refused, 1U);
    EXPECT_THROW(static_cast<void>(arena.allocate(1000)), std::bad_alloc);
    EXPECT_THROW(static_cast<void>(arena.allocate(~std::size_t{0} - 10)), std::bad_alloc);
    arena.reset();
    EXPECT_NE(arena.try_take(1000), nullptr);
}

TEST(Arena, WhatNoMemoryHoldsIsRefusedAlsoWithoutALimit) {
    Arena arena({.limit = Bytes{~std::uint64_t{0}}});
    EXPECT_NE(arena.try_take(10), nullptr);
    for (const std::size_t size : {~std::size_t{0}, ~std::size_t{0} - 16, ~std::size_t{0} - 31, ~std::size_t{0} - 32,
                                   ~std::size_t{0} - 4096, (~std::size_t{0} >> 1U) + 1, ~std::size_t{0} >> 1U}) {
        for (const std::size_t alignment : {1UL, 16UL, 64UL, 4096UL, 1UL << 63U}) {
            EXPECT_EQ(arena.try_take(size, alignment), nullptr) << size << " at " << alignment;
        }
    }
    EXPECT_LT(arena.stats().from_upstream, 1_MiB);
    EXPECT_NE(arena.try_take(10), nullptr);
}

TEST(Arena, ChunksMayBeLargerThanTheyGrow) {
    Arena arena({.chunk = 3_MiB, .keep = 6_MiB});
    EXPECT_NE(arena.try_take(10), nullptr);
    EXPECT_EQ(arena.stats().from_upstream, 3_MiB);
    EXPECT_NE(arena.try_take(3'100'000), nullptr);
    EXPECT_NE(arena.try_take(100'000), nullptr);
    EXPECT_LE(arena.stats().chunks, 3U);
    arena.reset();
    EXPECT_LE(arena.stats().from_upstream, 6_MiB);
}

TEST(Arena, NothingTakenNothingAsked) {
    Arena arena;
    arena.reset();
    EXPECT_EQ(arena.stats().from_upstream, 0_B);
    EXPECT_NE(arena.try_take(0), nullptr);
}

#ifdef WEIR_POISONS
TEST(ArenaDeathTest, UseAfterResetIsFoundByTheAddressSanitizer) {
    Arena arena;
    auto* const data = static_cast<volatile char*>(arena.try_take(100));
    data[99] = 1;
    arena.reset();
    EXPECT_DEATH(data[50] = 1, "use-after-poison");
}
#endif

}  // namespace
}  // namespace weir::memory
