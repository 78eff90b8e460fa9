// SPDX-License-Identifier: Apache-2.0
#include "weir/memory/migrating_pool.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <list>
#include <map>
#include <memory_resource>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "weir/base/testing/number_in_environment.hpp"

namespace weir::memory {
namespace {

TEST(SizeClasses, HoldWhatIsAskedAndWasteAtMostAFifth) {
    for (std::size_t size = 0; size <= size_classes::size_max; ++size) {
        const auto c = size_classes::of(size, 1);
        ASSERT_LT(c, size_classes::count);
        ASSERT_EQ(c, size_classes::computed(size));
        ASSERT_GE(size_classes::size_of(c), size);
        if (c > 0) {
            ASSERT_LT(size_classes::size_of(c - 1), size);
        }
        if (size > size_classes::fine_max) {
            ASSERT_LE(size_classes::size_of(c) - size, size_classes::size_of(c) / 5);
        }
    }
    EXPECT_EQ(size_classes::of(size_classes::size_max + 1, 1), size_classes::count);
}

TEST(SizeClasses, KeepEveryAlignmentUpToAPage) {
    for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        for (std::size_t size = 0; size <= size_classes::size_max; size += 7) {
            const auto c = size_classes::of(size, alignment);
            ASSERT_LT(c, size_classes::count);
            ASSERT_GE(size_classes::size_of(c), size);
            ASSERT_EQ(size_classes::size_of(c) % alignment, 0U);
        }
    }
}

TEST(MigratingPool, BlocksAreAlignedAndDistinct) {
    MigratingPool pool;
    struct Block {
        char* data;
        std::size_t size, alignment;
    };
    std::map<char*, Block> held;
    for (std::size_t alignment = 1; alignment <= 16384; alignment *= 2) {
        for (std::size_t size : {0UL, 1UL, 16UL, 17UL, 100UL, 129UL, 1000UL, 1025UL, 8192UL, 8193UL, 100'000UL}) {
            for (int i = 0; i < 3; ++i) {
                auto* const data = static_cast<char*>(pool.try_take(size, alignment));
                ASSERT_NE(data, nullptr);
                EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % alignment, 0U);
                std::memset(data, 0x5a, size);
                const auto [at, fresh] = held.emplace(data, Block{data, size, alignment});
                ASSERT_TRUE(fresh);
                if (at != held.begin()) {
                    EXPECT_LE(std::prev(at)->first + std::prev(at)->second.size, data);
                }
                if (std::next(at) != held.end()) {
                    EXPECT_LE(data + size, std::next(at)->first);
                }
            }
        }
    }
    for (const auto& [data, block] : held) pool.release(block.data, block.size, block.alignment);
    EXPECT_EQ(pool.stats().allocations, held.size());
    EXPECT_EQ(pool.stats().frees, held.size());
}

TEST(MigratingPool, ContainersKeepTheirContentsThroughRandomOperations) {
    const auto seed = testing::drawn_seed();
    SCOPED_TRACE(testing::again(seed));
    std::mt19937 random(seed);
    MigratingPool pool;
    std::pmr::unordered_map<int, std::pmr::string> ours(&pool);
    std::unordered_map<int, std::string> model;
    for (int i = 0; i < 20'000; ++i) {
        const int key = static_cast<int>(random() % 500);
        if (random() % 3 == 0) {
            EXPECT_EQ(ours.erase(key), model.erase(key));
        } else {
            const std::string text(random() % 3000, static_cast<char>('a' + key % 26));
            ours[key] = text;
            model[key] = text;
        }
    }
    ASSERT_EQ(ours.size(), model.size());
    for (const auto& [key, text] : model) EXPECT_EQ(std::string_view(ours.at(key)), text);
    EXPECT_EQ(pool.stats().corrections, 0U);
}

TEST(MigratingPool, ContainersAreMovedAndSwappedAcrossPools) {
    MigratingPool one;
    MigratingPool other;
    using List = std::list<int, MigratingAllocator<int>>;
    List a({1, 2, 3}, MigratingAllocator<int>(one));
    List b({4, 5}, MigratingAllocator<int>(other));
    a.swap(b);
    EXPECT_EQ(a, List({4, 5}, MigratingAllocator<int>(one)));
    b = std::move(a);
    EXPECT_EQ(b, List({4, 5}, MigratingAllocator<int>(one)));
    EXPECT_TRUE(b.get_allocator() == MigratingAllocator<int>(other));
    EXPECT_FALSE(one.is_equal(other));
}

TEST(MigratingPool, ReleasedBlocksAreTakenAgainBeforeMoreIsAskedOfUpstream) {
    MigratingPool pool;
    std::vector<void*> held;
    for (int round = 0; round < 100; ++round) {
        for (int i = 0; i < 5000; ++i) held.push_back(pool.try_take(48));
        for (void* data : held) pool.release(data, 48);
        held.clear();
    }
    EXPECT_LE(pool.stats().from_upstream, 1_MiB);
    EXPECT_EQ(pool.stats().corrections, 0U);
}

TEST(MigratingPool, MorePoolsThanAThreadHasPlacesForAreStillDistinct) {
    std::vector<std::unique_ptr<MigratingPool>> pools;
    std::vector<void*> held;
    for (std::size_t i = 0; i < 3 * pool_thread_slot_count; ++i) {
        pools.push_back(std::make_unique<MigratingPool>());
        held.push_back(pools.back()->try_take(64));
    }
    std::swap(pools.front(), pools.back());
    std::swap(held.front(), held.back());
    for (std::size_t i = 0; i < pools.size(); ++i) {
        pools[i]->release(held[i], 64);
        EXPECT_EQ(pools[i]->stats().allocations, 1U);
        EXPECT_EQ(pools[i]->stats().frees, 1U);
    }
}

TEST(MigratingPool, WhatNoMemoryHoldsIsRefusedAlsoWithoutALimit) {
    MigratingPool pool;
    for (const std::size_t size : {~std::size_t{0}, ~std::size_t{0} - 16, ~std::size_t{0} - 63, ~std::size_t{0} - 4096,
                                   (~std::size_t{0} >> 1U) + 1}) {
        for (const std::size_t alignment : {1UL, 16UL, 64UL, 8192UL, 1UL << 63U}) {
            EXPECT_EQ(pool.try_take(size, alignment), nullptr) << size << " at " << alignment;
        }
    }
    EXPECT_EQ(pool.stats().refused, 25U);
    EXPECT_EQ(pool.stats().from_upstream, 0_B);
}

// Upstream that comes to its pool in the middle of an allocation, as another thread may.
class UpstreamThatLooks final : public std::pmr::memory_resource {
public:
    MigratingPool* pool = nullptr;
    Bytes seen;
    bool has_more = true;

private:
    void* do_allocate(std::size_t size, std::size_t alignment) override {
        look();
        if (!has_more) throw std::bad_alloc();
        return std::pmr::new_delete_resource()->allocate(size, alignment);
    }
    void do_deallocate(void* data, std::size_t size, std::size_t alignment) override {
        look();
        std::pmr::new_delete_resource()->deallocate(data, size, alignment);
    }
    [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
        return this == &other;
    }
    void look() {
        if (pool != nullptr) seen = pool->stats().from_upstream;
    }
};

TEST(MigratingPool, UpstreamMayTakeItsTimeForLargeBlocks) {
    UpstreamThatLooks upstream;
    MigratingPool pool({.limit = 1_MiB, .upstream = &upstream});
    upstream.pool = &pool;
    void* const block = pool.try_take(100'000);
    EXPECT_EQ(upstream.seen, 100'000_B);  // reserved already, and no lock is held
    EXPECT_EQ(pool.try_take(1'000'000), nullptr);
    pool.release(block, 100'000);
    EXPECT_EQ(upstream.seen, 100'000_B);
    EXPECT_EQ(pool.stats().from_upstream, 0_B);
    upstream.has_more = false;
    EXPECT_EQ(pool.try_take(100'000), nullptr);
    EXPECT_EQ(pool.stats().from_upstream, 0_B);
    upstream.pool = nullptr;
}

TEST(MigratingPool, AtItsLimitItRefusesAndGoesOnWhenBlocksAreReleased) {
    MigratingPool pool({.limit = 1_MiB, .chunk = 256_KiB});
    std::vector<void*> held;
    while (void* data = pool.try_take(1000)) held.push_back(data);
    EXPECT_GT(held.size(), 900U);
    EXPECT_LE(pool.stats().from_upstream, 1_MiB);
    EXPECT_EQ(pool.stats().refused, 1U);
    EXPECT_THROW(static_cast<void>(pool.allocate(1000)), std::bad_alloc);
    EXPECT_THROW(static_cast<void>(pool.allocate(100'000)), std::bad_alloc);
    EXPECT_THROW(static_cast<void>(MigratingAllocator<char>(pool).allocate(1000)), std::bad_alloc);
    pool.release(held.back(), 1000);
    held.back() = pool.try_take(1000);
    EXPECT_NE(held.back(), nullptr);
    for (void* data : held) pool.release(data, 1000);
}

TEST(MigratingPool, LargeSizesAreHeldOnlyWhileTheyAreInUse) {
    MigratingPool pool({.limit = 4_MiB});
    for (int i = 0; i < 10; ++i) {
        void* const data = pool.try_take(3'000'000);
        ASSERT_NE(data, nullptr);
        EXPECT_EQ(pool.try_take(3'000'000), nullptr);
        pool.release(data, 3'000'000);
    }
    EXPECT_EQ(pool.stats().large, 10U);
    EXPECT_LE(pool.stats().from_upstream, 1_MiB);
}

TEST(MigratingPool, AnArraySizeThatDoesNotFitIsRefused) {
    MigratingPool pool({.limit = 4_MiB});
    EXPECT_THROW(static_cast<void>(MigratingAllocator<double>(pool).allocate(~std::size_t{0} / 4)),
                 std::bad_array_new_length);
    EXPECT_THROW(static_cast<void>(pool.allocate(~std::size_t{0} / 4)), std::bad_alloc);
}

TEST(MigratingPoolDeathTest, APoolThatEndsBeforeItsBlocksStopsTheProgram) {
    EXPECT_DEATH(
        {
            MigratingPool pool;
            static_cast<void>(pool.try_take(10));
        },
        "a MigratingPool ends while 1 blocks .* destroy the containers");
}

TEST(MigratingPool, ReleasingANullPointerDoesNothing) {
    MigratingPool pool;
    for (const std::size_t size : {std::size_t{0}, std::size_t{10}, std::size_t{1} << 20}) pool.release(nullptr, size);
    EXPECT_EQ(pool.stats().frees, 0U);
    void* const data = pool.try_take(10);
    ASSERT_NE(data, nullptr);
    pool.release(data, 10);
}

#ifdef WEIR_POISONS
TEST(MigratingPoolDeathTest, UseAfterTheReturnIsFoundByTheAddressSanitizer) {
    MigratingPool pool;
    auto* const data = static_cast<volatile char*>(pool.try_take(100));
    data[99] = 1;
    EXPECT_DEATH(data[100] = 1, "use-after-poison");
    pool.release(const_cast<char*>(data), 100);
    EXPECT_DEATH(data[50] = 1, "use-after-poison");
    EXPECT_DEATH(pool.release(const_cast<char*>(data), 100), "is_poisoned");
}
#endif

}  // namespace
}  // namespace weir::memory
