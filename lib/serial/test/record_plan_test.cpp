// SPDX-License-Identifier: Apache-2.0
// Records of a known class, and one suite over every implementation that this processor can run.
#include "weir/serial/record_plan.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "guarded_bytes.hpp"
#include "random_plan.hpp"
#include "weir/base/testing/number_in_environment.hpp"
#include "weir/base/testing/sanitized.hpp"
#include "weir/serial/record_kernels.hpp"

namespace weir::serial {
namespace {

using test::Guard;
using test::GuardedBytes;
using test::OwnedPlan;
using test::Random;

constexpr RecordTables<14> thing({constant_byte(0x40), constant_byte(0), constant_byte(0), constant_byte(10),
                                  constant_byte(0), constant_byte(0), constant_byte(0), constant_byte(0x0d),
                                  constant_byte(0xa4), constant_byte(0xf8), object_byte(3), object_byte(2),
                                  object_byte(1), object_byte(0)},
                                 4);

std::vector<RecordKernel> usable_kernels() {
    std::vector<RecordKernel> kernels;
    for (const auto& kernel : record_kernels())
        if (kernel.usable(CpuFeatures::detect())) kernels.push_back(kernel);
    return kernels;
}

void fill(Random& random, std::span<std::byte> bytes) {
    for (auto& byte : bytes) byte = static_cast<std::byte>(random());
}

/// Bools in memory are 0 or 1.
void make_flags_bools(const OwnedPlan& plan, std::size_t count, std::byte* objects) {
    for (std::size_t i = 0; i < count; ++i)
        for (const auto& byte : plan.bytes())
            if (byte.is == WireByte::Is::flag) objects[i * plan.plan().object_size + byte.index] &= std::byte{1};
}

std::string described(const OwnedPlan& plan, std::size_t count, const RecordKernel& kernel) {
    std::string text = std::string(kernel.name) + ", " + std::to_string(count) + " objects of " +
                       std::to_string(plan.plan().object_size) + ":";
    for (const auto& byte : plan.bytes())
        text += byte.is == WireByte::Is::constant
                    ? " c"
                    : (byte.is == WireByte::Is::flag ? " f" : " ") + std::to_string(byte.index);
    return text;
}

TEST(RecordPlan, ThingsOfRootAreWrittenAndReadBack) {
    const std::uint32_t things[] = {1, 0x01020304, 0xfffffffe};
    std::vector<std::byte> wire(3 * 14);
    write_records(thing, reinterpret_cast<const std::byte*>(things), 3, wire.data());
    const std::uint8_t second[] = {0x40, 0, 0, 10, 0, 0, 0, 0x0d, 0xa4, 0xf8, 1, 2, 3, 4};
    for (std::size_t i = 0; i < 14; ++i) EXPECT_EQ(wire[14 + i], std::byte{second[i]}) << i;
    std::uint32_t back[3] = {};
    EXPECT_EQ(read_records(thing, wire.data(), 3, reinterpret_cast<std::byte*>(back)), 3U);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(back[i], things[i]);
    wire[14 + 5] = std::byte{1};
    EXPECT_EQ(read_records(thing, wire.data(), 3, reinterpret_cast<std::byte*>(back)), 1U);
}

TEST(RecordPlan, TablesAreWorkedOutByTheCompiler) {
    static_assert(thing.plan().fields.size() == 3);  // constants of 8 and 2 bytes, an int
    static_assert(thing.plan().wide.records == 4 && thing.plan().wide.steps.size() == 1);
    static_assert(thing.plan().wide.steps[0].object_bytes == 0xffff);
    static_assert(thing.plan().narrow.records == 1 && thing.plan().narrow.covers);
    static constexpr RecordTables<8> pair({object_byte(3), object_byte(2), object_byte(1), object_byte(0),
                                           object_byte(7), object_byte(6), object_byte(5), object_byte(4)},
                                          8);
    static_assert(pair.plan().turned == 4);
    static constexpr RecordTables<2> text({object_byte(0), object_byte(1)}, 2);
    static_assert(text.plan().turned == 1);
    static constexpr RecordTables<1> flag({flag_byte(0)}, 1);
    static_assert(flag.plan().turned == 0);
}

TEST(RecordPlan, EveryKernelWritesAsDefinedAndNothingOutside) {
    const auto seed = testing::drawn_seed();
    SCOPED_TRACE(testing::again(seed));
    Random random{seed};
    for (int round = 0; round < (testing::sanitized ? 100 : 600); ++round) {
        const auto plan = test::random_plan(random);
        const auto count = random() % (round % 3 == 0 ? 201 : 12);
        const auto guard = round % 2 == 0 ? Guard::behind : Guard::before;
        const GuardedBytes objects(count * plan.plan().object_size, guard);
        fill(random, objects.bytes());
        std::vector<std::byte> right(count * plan.bytes().size());
        plan.write(objects.data(), count, right.data());
        for (const auto& kernel : usable_kernels()) {
            const GuardedBytes wire(right.size(), guard);
            kernel.write(plan.plan(), objects.data(), count, wire.data());
            ASSERT_TRUE(std::ranges::equal(wire.bytes(), right)) << described(plan, count, kernel);
            ASSERT_TRUE(wire.others_untouched()) << described(plan, count, kernel);
        }
    }
}

TEST(RecordPlan, EveryKernelReadsAsDefinedAndLeavesOtherBytesAlone) {
    const auto seed = testing::drawn_seed();
    SCOPED_TRACE(testing::again(seed));
    Random random{seed};
    for (int round = 0; round < (testing::sanitized ? 100 : 600); ++round) {
        const auto plan = test::random_plan(random);
        const auto count = random() % (round % 3 == 0 ? 201 : 12);
        const auto guard = round % 2 == 0 ? Guard::behind : Guard::before;
        std::vector<std::byte> values(count * plan.plan().object_size), before(values.size());
        fill(random, values);
        fill(random, before);
        make_flags_bools(plan, count, values.data());
        const GuardedBytes wire(count * plan.bytes().size(), guard);
        plan.write(values.data(), count, wire.data());
        auto right = before;
        plan.read(wire.data(), count, right.data());
        for (const auto& kernel : usable_kernels()) {
            const GuardedBytes objects(before.size(), guard);
            std::ranges::copy(before, objects.data());
            ASSERT_EQ(kernel.read(plan.plan(), wire.data(), count, objects.data()), count)
                << described(plan, count, kernel);
            ASSERT_TRUE(std::ranges::equal(objects.bytes(), right)) << described(plan, count, kernel);
            ASSERT_TRUE(objects.others_untouched()) << described(plan, count, kernel);
        }
    }
}

TEST(RecordPlan, EveryKernelNamesTheFirstRecordWithAnotherConstantOrAFlagThatIsNone) {
    const auto seed = testing::drawn_seed();
    SCOPED_TRACE(testing::again(seed));
    Random random{seed};
    for (int round = 0; round < (testing::sanitized ? 150 : 1500); ++round) {
        const auto plan = test::random_plan(random);
        const auto size = plan.bytes().size();
        std::vector<std::size_t> insisted_on;
        for (std::size_t i = 0; i < size; ++i)
            if (plan.bytes()[i].is != WireByte::Is::object) insisted_on.push_back(i);
        if (insisted_on.empty()) continue;
        const auto count = 1 + random() % (round % 4 == 0 ? 2000 : 20);
        std::vector<std::byte> values(count * plan.plan().object_size), wire(count * size);
        fill(random, values);
        make_flags_bools(plan, count, values.data());
        plan.write(values.data(), count, wire.data());
        for (auto wrong = 1 + random() % 3; wrong > 0; --wrong)  // one bit; of a flag not the one that may be set
            wire[random() % count * size + insisted_on[random() % insisted_on.size()]] ^= std::byte{2};
        std::size_t first = 0;  // not always the first that was changed: two changes may undo each other
        const auto right = [&](std::size_t at) {
            const auto value = std::to_integer<unsigned>(wire[first * size + at]);
            return plan.bytes()[at].is == WireByte::Is::flag ? value <= 1 : value == plan.bytes()[at].value;
        };
        while (first < count && std::ranges::all_of(insisted_on, right)) ++first;
        std::vector<std::byte> before(values.size());
        plan.read(wire.data(), first, before.data());
        const auto kept = static_cast<std::ptrdiff_t>(first * plan.plan().object_size);
        for (const auto& kernel : usable_kernels()) {
            std::vector<std::byte> objects(values.size());
            ASSERT_EQ(kernel.read(plan.plan(), wire.data(), count, objects.data()), first)
                << described(plan, count, kernel);
            ASSERT_TRUE(std::equal(objects.begin(), objects.begin() + kept, before.begin()))
                << described(plan, count, kernel);
            const auto refused = objects;
            make_flags_bools(plan, count, objects.data());
            ASSERT_EQ(objects, refused) << described(plan, count, kernel);
        }
    }
}

TEST(RecordPlan, StepsThatHoldConstantsOnlyDisturbNoObject) {
    std::vector<WireByte> bytes;
    for (const std::size_t place : {8U, 16U})
        for (std::size_t i = 8; i > 0; --i) bytes.push_back(object_byte(place - 8 + i - 1));
    for (std::uint8_t i = 0; i < 40; ++i) bytes.push_back(constant_byte(i));
    for (std::size_t i = 8; i > 0; --i) bytes.push_back(object_byte(16 + i - 1));
    const OwnedPlan plan(bytes, 24);
    ASSERT_TRUE(plan.plan().narrow.covers);
    std::vector<std::byte> objects(24 * 9), wire(bytes.size() * 9);
    Random random{7};
    fill(random, objects);
    plan.write(objects.data(), 9, wire.data());
    for (const auto& kernel : usable_kernels()) {
        std::vector<std::byte> back(objects.size());
        EXPECT_EQ(kernel.read(plan.plan(), wire.data(), 9, back.data()), 9U) << kernel.name;
        EXPECT_EQ(back, objects) << kernel.name;
    }
}

TEST(RecordPlan, NoRecordsAreWrittenAndReadWithoutAnyMemory) {
    const OwnedPlan copied({object_byte(0)}, 1), turned({object_byte(1), object_byte(0)}, 2);
    const OwnedPlan behind({object_byte(9), object_byte(8)}, 16);
    for (const auto& kernel : usable_kernels())
        for (const auto* plan : {&thing.plan(), &copied.plan(), &turned.plan(), &behind.plan()}) {
            kernel.write(*plan, nullptr, 0, nullptr);
            EXPECT_EQ(kernel.read(*plan, nullptr, 0, nullptr), 0U) << kernel.name;
        }
}

TEST(RecordPlan, TheBestUsableKernelIsChosenAndPortableIsTheLastResort) {
    EXPECT_EQ(best(record_kernels(), CpuFeatures{}).name, "portable");
    EXPECT_EQ(best(record_kernels(), CpuFeatures::detect()).name, record_kernel_name());
#if defined(__x86_64__)
    CpuFeatures some;
    some.ssse3 = true;
    EXPECT_EQ(best(record_kernels(), some).name, "ssse3");
    some.avx2 = true;
    EXPECT_EQ(best(record_kernels(), some).name, "avx2");
    some.avx512 = true;
    EXPECT_EQ(best(record_kernels(), some).name, "avx512");
    some.avx512_vbmi = true;
    EXPECT_EQ(best(record_kernels(), some).name, "avx512-vbmi");
#endif
}

}  // namespace
}  // namespace weir::serial
