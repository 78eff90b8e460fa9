// SPDX-License-Identifier: Apache-2.0
#include "reassembly.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace weir::messaging {
namespace {

using namespace std::chrono_literals;
using enum Reassembly::Outcome;

constexpr SteadyTime start{1s};

std::vector<std::byte> some_bytes(std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 131 + i / 256);
    return bytes;
}

wire::DatagramHeader part_of(std::uint64_t message, std::size_t size, std::size_t offset, std::size_t part) {
    return {.type = wire::DataflowType::data,
            .from = wire::StationId{2},
            .message = message,
            .message_size = static_cast<std::uint32_t>(size),
            .offset = static_cast<std::uint32_t>(offset),
            .part_size = static_cast<std::uint32_t>(part)};
}

class ReassemblyTest : public ::testing::Test {
protected:
    auto add(std::uint64_t message, ConstData whole, std::size_t offset, std::size_t part, SteadyTime now = start) {
        return reassembly_.add(part_of(message, whole.size(), offset, part), whole.subspan(offset, part), now,
                               complete_);
    }
    memory::BufferPool pool_{Bytes{1 << 20}};
    Reassembly reassembly_{4, 100ms, pool_};
    memory::Buffer complete_;
};

TEST_F(ReassemblyTest, PutsPartsTogetherInAnyOrderAndTakesEachOnce) {
    std::mt19937_64 random(7);
    const auto whole = some_bytes(300 * 9 + 17);
    for (std::uint64_t message = 1; message <= 50; ++message) {
        std::vector<std::size_t> order(10);
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::ranges::shuffle(order, random);
        for (std::size_t i = 0; i < order.size(); ++i) {
            const auto offset = order[i] * 300;
            const auto size = std::min<std::size_t>(300, whole.size() - offset);
            ASSERT_EQ(add(message, whole, offset, size), i + 1 == order.size() ? complete : more);
            if (i + 1 < order.size()) {
                ASSERT_EQ(add(message, whole, offset, size), duplicate);
            }
        }
        ASSERT_TRUE(std::ranges::equal(complete_.data(), whole));
        complete_.release();
        EXPECT_EQ(reassembly_.incomplete(), 0U);
    }
    EXPECT_EQ(pool_.stats().in_use, Bytes{0});
}

TEST_F(ReassemblyTest, RefusesPartsThatContradictEachOther) {
    const auto whole = some_bytes(1000);
    EXPECT_EQ(add(1, whole, 0, 100), inconsistent) << "too small for one that is not the last";
    EXPECT_EQ(add(1, whole, 0, 1000), inconsistent) << "all of it is no part";
    EXPECT_EQ(reassembly_.incomplete(), 0U);
    EXPECT_EQ(add(1, whole, 0, 400), more);
    EXPECT_EQ(add(1, whole, 300, 300), inconsistent) << "other bounds";
    EXPECT_EQ(add(1, whole, 400, 300), inconsistent) << "smaller, and not the last";
    EXPECT_EQ(add(1, whole, 700, 300), inconsistent) << "the last, at an impossible place";
    EXPECT_EQ(add(1, some_bytes(900), 400, 400), inconsistent) << "a message of another size";
    EXPECT_EQ(add(1, whole, 400, 400), more);
    EXPECT_EQ(add(1, whole, 800, 200), complete);
    EXPECT_TRUE(std::ranges::equal(complete_.data(), whole));
    EXPECT_EQ(add(2, whole, 800, 200), more) << "the last part first";
    EXPECT_EQ(add(2, whole, 900, 100), inconsistent) << "another last part";
    EXPECT_EQ(add(2, whole, 0, 300), inconsistent) << "800 is no multiple of 300";
    EXPECT_EQ(add(2, whole, 400, 400), more);
}

TEST_F(ReassemblyTest, NeverHoldsMoreThanItsTableAndDiscardsTheOldest) {
    const auto whole = some_bytes(1000);
    for (unsigned message = 1; message <= 6; ++message) {
        EXPECT_EQ(add(message, whole, 0, 500, start + 1ms * message), more);
    }
    EXPECT_EQ(reassembly_.incomplete(), 4U);
    EXPECT_EQ(reassembly_.discarded(), 2U);
    EXPECT_EQ(add(3, whole, 500, 500, start + 10ms), complete);
    EXPECT_EQ(reassembly_.next_expiry(), start + 4ms + 100ms);
    reassembly_.expire(start + 105ms);
    EXPECT_EQ(reassembly_.incomplete(), 1U);
    EXPECT_EQ(reassembly_.discarded(), 4U);
    reassembly_.discard_from(wire::StationId{2});
    EXPECT_EQ(reassembly_.incomplete(), 0U);
}

TEST_F(ReassemblyTest, ReportsThatMemoryIsShort) {
    const auto whole = some_bytes(600'000);
    EXPECT_EQ(add(1, whole, 0, 60'000), more);
    EXPECT_EQ(add(2, whole, 0, 60'000), no_memory);
    EXPECT_EQ(reassembly_.incomplete(), 1U);
}

}  // namespace
}  // namespace weir::messaging
