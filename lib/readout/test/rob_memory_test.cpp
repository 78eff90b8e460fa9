// SPDX-License-Identifier: Apache-2.0
#include "rob_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <set>
#include <thread>

namespace weir::readout {
namespace {

constexpr std::size_t page = memory::BufferPool::alignment;

void release(RobMemory& memory, RobMemory::Piece piece) {
    RobMemory::Released released(memory);
    if (piece.shared != nullptr) released.add(*piece.shared);
    if (piece.own) released.add(std::move(piece.own));
}

TEST(RobMemory, SmallPiecesShareABufferAndLargeOnesHaveTheirOwn) {
    RobMemory memory(Bytes{64 * page}, 4 * page);
    std::vector<RobMemory::Piece> pieces;
    for (int i = 0; i < 10; ++i) pieces.push_back(std::move(*memory.try_take(1000, 0)));
    for (const auto& piece : pieces) {
        EXPECT_EQ(piece.shared, pieces.front().shared);
        EXPECT_EQ(piece.data.size(), 1000U);
    }
    EXPECT_EQ(memory.taken(), 4 * page);
    auto large = memory.try_take(3 * page, 0);
    ASSERT_TRUE(large);
    EXPECT_EQ(large->shared, nullptr);
    EXPECT_EQ(memory.taken(), 7 * page);
    for (auto& piece : pieces) release(memory, std::move(piece));
    release(memory, std::move(*large));
    memory.idle();
    EXPECT_EQ(memory.taken(), 0U);
    EXPECT_EQ(memory.in_use().count(), 0U);
}

TEST(RobMemory, PiecesDoNotOverlapAndKeepTheirBytesWhileOthersComeAndGo) {
    RobMemory memory(Bytes{256 * page}, 2 * page);
    std::deque<std::pair<RobMemory::Piece, std::byte>> kept;
    std::mt19937 random(7);
    for (int i = 0; i < 20'000; ++i) {
        const std::size_t size = 1 + random() % (i % 16 == 0 ? 3 * page : 1500);
        if (auto piece = memory.try_take(size, 0)) {
            const auto mark = static_cast<std::byte>(random());
            std::memset(piece->data.data(), static_cast<int>(mark), size);
            kept.emplace_back(std::move(*piece), mark);
        } else {
            ASSERT_FALSE(kept.empty());
        }
        while (kept.size() > 100 || (!kept.empty() && random() % 2 == 0)) {
            const auto which = static_cast<std::ptrdiff_t>(random() % std::min<std::size_t>(kept.size(), 20));
            auto& [piece, mark] = kept[static_cast<std::size_t>(which)];
            ASSERT_TRUE(std::ranges::all_of(piece.data, [&](std::byte byte) { return byte == mark; }));
            release(memory, std::move(piece));
            kept.erase(kept.begin() + which);
        }
    }
    for (auto& [piece, mark] : kept) release(memory, std::move(piece));
    memory.idle();
    EXPECT_EQ(memory.in_use().count(), 0U);
    EXPECT_EQ(memory.taken(), 0U);
}

TEST(RobMemory, ABufferGoesBackWithTheLastOfItsPieces) {
    RobMemory memory(Bytes{64 * page}, page);
    std::vector<RobMemory::Piece> pieces;
    for (int i = 0; i < 6; ++i) pieces.push_back(std::move(*memory.try_take(1000, 0)));  // three in a page
    EXPECT_EQ(memory.taken(), 2 * page);
    release(memory, std::move(pieces[0]));
    release(memory, std::move(pieces[2]));
    EXPECT_EQ(memory.taken(), 2 * page);
    release(memory, std::move(pieces[1]));
    EXPECT_EQ(memory.taken(), page);
    for (std::size_t i = 3; i < 6; ++i) release(memory, std::move(pieces[i]));
    memory.idle();
    EXPECT_EQ(memory.taken(), 0U);
}

TEST(RobMemory, ABufferOfWhichNothingIsUsedIsFilledFromItsBeginAgain) {
    RobMemory memory(Bytes{64 * page}, page);
    std::set<const std::byte*> places;
    for (int i = 0; i < 100; ++i) {
        auto piece = memory.try_take(1000, 0);
        ASSERT_TRUE(piece);
        places.insert(piece->data.data());
        release(memory, std::move(*piece));
        EXPECT_EQ(memory.taken(), page);
    }
    EXPECT_EQ(places.size(), 3U);
}

TEST(RobMemory, ALargePieceGetsThePageThatStandsOpenWithoutAUser) {
    RobMemory memory(Bytes{2 * page}, page);
    auto small = memory.try_take(1000, 0);
    ASSERT_TRUE(small);
    EXPECT_FALSE(memory.try_take(2 * page, 0));
    release(memory, std::move(*small));
    auto large = memory.try_take(2 * page, 0);
    ASSERT_TRUE(large);
    EXPECT_FALSE(memory.try_take(1000, 0));
    release(memory, std::move(*large));
}

TEST(RobMemory, WhatIsToBeLeftForOthersIsLeft) {
    RobMemory memory(Bytes{16 * page}, 4 * page);
    std::vector<RobMemory::Piece> pieces;
    while (auto piece = memory.try_take(1500, 8 * page)) pieces.push_back(std::move(*piece));
    EXPECT_LE(memory.taken(), 8 * page);
    EXPECT_GE(memory.taken(), 7 * page);
    auto piece = memory.try_take(1500, 0);
    ASSERT_TRUE(piece);
    pieces.push_back(std::move(*piece));
    EXPECT_FALSE(memory.try_take(1500, 8 * page)) << "nor out of the buffer that this one has opened";
    EXPECT_TRUE(memory.taken() > 8 * page);
    for (auto& one : pieces) release(memory, std::move(one));
}

TEST(RobMemory, NeverMoreThanTheLimitIsTakenAndAllOfItCanBeTaken) {
    RobMemory memory(Bytes{8 * page}, page);
    std::vector<RobMemory::Piece> pieces;
    while (auto piece = memory.try_take(1000, 0)) pieces.push_back(std::move(*piece));
    EXPECT_EQ(pieces.size(), 24U);
    EXPECT_EQ(memory.in_use().count(), 8 * page);
    for (auto& piece : pieces) release(memory, std::move(piece));
}

TEST(RobMemory, ThreadsThatFillAndOneThatReleasesNeverMeetInAPiece) {
    RobMemory memory(Bytes{64 * page}, page);
    constexpr int fillers = 3, pieces_of_each = 20'000;
    std::mutex mutex;
    std::deque<std::pair<RobMemory::Piece, std::byte>> given;
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int filler = 0; filler < fillers; ++filler) {
        threads.emplace_back([&, mark = static_cast<std::byte>(filler + 1)] {
            for (int i = 0; i < pieces_of_each;) {
                auto piece = memory.try_take(700, 0);
                if (!piece) {
                    std::this_thread::yield();
                    continue;
                }
                std::ranges::fill(piece->data, mark);
                const std::scoped_lock lock(mutex);
                given.emplace_back(std::move(*piece), mark);
                ++i;
            }
        });
    }
    threads.emplace_back([&] {
        for (int done = 0; done < fillers * pieces_of_each;) {
            std::deque<std::pair<RobMemory::Piece, std::byte>> taken;
            {
                const std::scoped_lock lock(mutex);
                taken.swap(given);
            }
            if (taken.empty()) std::this_thread::yield();
            RobMemory::Released released(memory);
            for (auto& [piece, mark] : taken) {
                for (const auto byte : piece.data) wrong += byte == mark ? 0 : 1;
                if (piece.shared != nullptr) released.add(*piece.shared);
                if (piece.own) released.add(std::move(piece.own));
                ++done;
            }
            if (done % 7 == 0) memory.idle();
        }
    });
    for (auto& thread : threads) thread.join();
    memory.idle();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(memory.taken(), 0U);
    EXPECT_EQ(memory.in_use().count(), 0U);
}

}  // namespace
}  // namespace weir::readout
