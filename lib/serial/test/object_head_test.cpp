// SPDX-License-Identifier: Apache-2.0
#include "weir/serial/object_head.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "things.hpp"
#include "weir/serial/writer.hpp"

namespace weir::serial {
namespace {

std::vector<std::byte> two_things() {
    Writer writer;
    const Thing first{1}, second{2};
    EXPECT_TRUE(writer.write_any(&first));
    EXPECT_TRUE(writer.write_any(&second));
    return {writer.data().begin(), writer.data().end()};
}

TEST(ObjectHead, HasClassAndSizeAlsoWhenTheClassWasNamedBefore) {
    const auto buffer = two_things();
    const auto first = object_head(buffer);
    ASSERT_TRUE(first) << first.error().message();
    EXPECT_EQ(first->class_name, "Thing");
    const auto second = object_head(buffer, first->size);
    ASSERT_TRUE(second) << second.error().message();
    EXPECT_EQ(second->class_name, "Thing");
    EXPECT_EQ(first->size + second->size, buffer.size());
    EXPECT_TRUE(holds_one_object(ConstData(buffer).first(first->size)));
    EXPECT_FALSE(holds_one_object(buffer));
    EXPECT_FALSE(holds_one_object(ConstData(buffer).subspan(first->size)));
}

TEST(ObjectHead, CutShortAtAnyByteIsAnError) {
    const auto buffer = two_things();
    const auto size = object_head(buffer)->size;
    for (std::size_t end = 0; end < size; ++end) EXPECT_FALSE(object_head(ConstData(buffer).first(end))) << end;
    for (std::size_t end = size; end < buffer.size(); ++end)
        EXPECT_FALSE(object_head(ConstData(buffer).first(end), size)) << end;
    EXPECT_FALSE(object_head(buffer, buffer.size() + 1));
}

TEST(ObjectHead, BytesOfAnyKindAreReadWithinTheirBounds) {
    const auto whole = two_things();
    std::mt19937 random(7);
    for (int turn = 0; turn < 20'000; ++turn) {
        auto buffer = whole;
        for (int i = 0; i < 3; ++i) buffer[random() % buffer.size()] = static_cast<std::byte>(random());
        for (const std::size_t at : {std::size_t{0}, whole.size() / 2, random() % whole.size()})
            if (const auto head = object_head(buffer, at)) {
                EXPECT_LE(at + head->size, buffer.size());
                EXPECT_FALSE(head->class_name.empty());
            }
    }
}

}  // namespace
}  // namespace weir::serial
