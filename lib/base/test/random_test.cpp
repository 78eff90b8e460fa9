// SPDX-License-Identifier: Apache-2.0
#include "weir/base/random.hpp"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Random, NumbersAreTheSameOnEveryMachine) {
    Random random(1);
    EXPECT_EQ(random.next(), 0x910a2dec89025cc1U);
    EXPECT_EQ(random.next(), 0xbeeb8da1658eec67U);
}

}  // namespace
}  // namespace weir
