// SPDX-License-Identifier: Apache-2.0
#include "weir/base/cpu.hpp"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Cpu, PhysicalCoresComeBeforeTheirSiblings) {
    // Two sockets of two cores with two threads each, numbered as Linux usually does.
    const auto order = order_by_core({{0, 0, 0, 0},
                                      {1, 1, 0, 0},
                                      {2, 0, 1, 0},
                                      {3, 1, 1, 0},
                                      {4, 0, 0, 0},
                                      {5, 1, 0, 0},
                                      {6, 0, 1, 0},
                                      {7, 1, 1, 0}});
    std::vector<int> numbers;
    std::vector<int> siblings;
    for (const auto& cpu : order) {
        numbers.push_back(cpu.number);
        siblings.push_back(cpu.sibling);
    }
    EXPECT_EQ(numbers, (std::vector{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(siblings, (std::vector{0, 0, 0, 0, 1, 1, 1, 1}));
}

TEST(Cpu, NeighbouringSiblingsAreTakenApart) {
    const auto order = order_by_core({{0, 0, 0, 0}, {1, 0, 0, 0}, {2, 1, 0, 0}, {3, 1, 0, 0}});
    EXPECT_EQ(order[0].number, 0);
    EXPECT_EQ(order[1].number, 2);
    EXPECT_EQ(order[2].number, 1);
    EXPECT_EQ(order[3].number, 3);
}

TEST(Cpu, ThisMachineHasAtLeastOneCore) {
    const auto cpus = cpu_topology();
    ASSERT_FALSE(cpus.empty());
    EXPECT_EQ(cpus.front().sibling, 0);
}

TEST(Cpu, WiderSetsComeWithNarrowerOnes) {
    const auto features = CpuFeatures::detect();
    EXPECT_TRUE(!features.avx512_vnni || features.avx512);
    EXPECT_TRUE(!features.avx512 || features.avx2);
    EXPECT_TRUE(!features.avx2 || features.sse42);
    EXPECT_EQ(features, CpuFeatures::detect());
}

}  // namespace
}  // namespace weir
