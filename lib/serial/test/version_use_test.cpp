// SPDX-License-Identifier: Apache-2.0
// The flag of TClass in all its ways: the bytes do not depend on it, and it is set once an object was written.
#include "weir/serial/version_use.hpp"

#include <gtest/gtest.h>

#include "streaming.hpp"
#include "things.hpp"

struct Flagged {
    int a = 0;
};
template <>
inline constexpr auto weir::serial::description<Flagged> = weir::serial::version(4);

namespace {

using namespace weir;
using namespace weir::serial;

template <class Use>
class VersionUseTest : public testing::Test {};
using Uses = testing::Types<VersionUse<LoadThenStore, true>, VersionUse<LoadThenStoreSeqCst>, VersionUse<StoreRelaxed>,
                            VersionUse<StoreRelaxed, true>, VersionUse<StoreSeqCst>, VersionUse<StoreSeqCst, true>>;
TYPED_TEST_SUITE(VersionUseTest, Uses, );

TYPED_TEST(VersionUseTest, WritesTheSameBytes) {
    for (const Mode mode : {Mode::object_wise, Mode::member_wise}) {
        BasicWriter<TypeParam> writer({.mode = mode});
        const Holder holder{sample_things<Thing>(10)};
        ASSERT_TRUE(writer.stream(holder) && writer.stream(holder.things));
        EXPECT_EQ(as_text(writer.data()), written(holder, mode) + written(holder.things));
    }
}

TEST(VersionUsed, IsTrueFromTheFirstObjectOn) {
    EXPECT_FALSE(version_used<Flagged>());
    EXPECT_EQ(written(std::vector<Flagged>{}).size(), 4u);
    EXPECT_FALSE(version_used<Flagged>());
    EXPECT_EQ(to_hex(written(std::vector<Flagged>{{7}})), "00 00 00 01 40 00 00 06 00 04 00 00 00 07");
    EXPECT_TRUE(version_used<Flagged>());
}

}  // namespace
