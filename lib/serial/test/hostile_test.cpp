// SPDX-License-Identifier: Apache-2.0
// Hostile bytes: every input ends as an error with its place, or as an object; no count is used unchecked. (ROOT
// returns objects for most of these, and a line on stderr.)
#include <gtest/gtest.h>

#include <random>

#include "root/allocations.hpp"
#include "streaming.hpp"
#include "things.hpp"

enum class Level : short { low = -1, high = 300 };

struct Everything {
    bool flag = false;
    Level level = Level::low;
    std::string text;
    std::vector<int> numbers;
    std::vector<bool> flags;
    std::vector<Thing> things;
    std::vector<std::string> texts;
    std::vector<std::vector<float>> nested;
    std::map<short, Thing> map;
    std::pair<int, std::string> pair;
    std::array<double, 20> array{};
    short grid[2][3]{};
    std::unique_ptr<Thing> owned;
    std::shared_ptr<Thing> first;
    std::shared_ptr<Thing> again;
};
struct Chain {
    std::unique_ptr<Chain> next;
};
struct Empty {};
struct OnlyEmptyBase : Empty {};
struct Empties {
    std::vector<OnlyEmptyBase> all{};
};
struct Tree {
    std::vector<Tree> children{};
};
struct Two {
    std::unique_ptr<Thing> a;
    std::unique_ptr<Thing> b;
};

namespace weir::serial {
template <>
inline constexpr auto description<Everything> =
    members("flag", "level", "text", "numbers", "flags", "things", "texts", "nested", "map", "pair", "array", "grid",
            "owned", "first", "again");
template <>
inline constexpr auto description<Chain> = members("next");
template <>
inline constexpr auto description<Empty> = members();
template <>
inline constexpr auto description<OnlyEmptyBase> = fields(base<Empty>());
template <>
inline constexpr auto description<Empties> = members("all");
template <>
inline constexpr auto description<Tree> = members("children");
template <>
inline constexpr auto description<Two> = members("a", "b");
}  // namespace weir::serial

namespace {

using namespace weir;
using namespace weir::serial;

Everything everything() {
    Everything all;
    all.flag = true;
    all.level = Level::high;
    all.text = std::string(260, 'x');
    all.numbers = {1, 2, 3};
    all.flags = {true, false};
    all.things = {{1}, {2}};
    all.texts = {"a", "", "bc"};
    all.nested = {{1, 2}, {}, {3}};
    all.map = {{1, {2}}, {3, {4}}};
    all.pair = {5, "six"};
    all.array[19] = 7;
    all.grid[1][2] = 8;
    all.owned = std::make_unique<Thing>(Thing{9});
    all.first = std::make_shared<Thing>(Thing{10});
    all.again = all.first;
    return all;
}

TEST(Hostile, CutShortAtAnyByteIsAnErrorInBothModes) {
    for (const Mode mode : {Mode::object_wise, Mode::member_wise}) {
        const auto whole = written(everything(), mode);
        const auto back = read<Everything>(whole);
        EXPECT_EQ(back.first, back.again);
        EXPECT_EQ(written(back, mode), whole);
        for (std::size_t size = 0; size < whole.size(); ++size)
            ASSERT_EQ(refusal<Everything>(whole.substr(0, size)).code, Errc::truncated) << size;
    }
    const auto list = written(sample_things<Thing>(20));
    for (std::size_t size = 0; size < list.size(); ++size)
        ASSERT_EQ(refusal<std::vector<Thing>>(list.substr(0, size)).code, Errc::truncated) << size;
}

TEST(Hostile, AnyByteChangedIsAnErrorOrAnObjectThatIsWrittenAgain) {
    std::mt19937 random(11);
    for (const Mode mode : {Mode::object_wise, Mode::member_wise}) {
        const auto whole = written(everything(), mode);
        for (std::size_t i = 0; i < whole.size(); ++i)
            for (int round = 0; round < 2; ++round) {
                auto bytes = whole;
                bytes[i] = static_cast<char>(random());
                Reader reader(as_data(bytes), {.unknown = round % 2 == 0 ? Unknown::error : Unknown::skip});
                Everything all;
                if (const auto ok = reader.stream(all); ok) {
                    const auto again = written(all, mode);
                    ASSERT_EQ(written(read<Everything>(again), mode), again) << i;
                } else {
                    ASSERT_TRUE(ok.error().context.starts_with("ROOT buffer, offset ")) << ok.error().context;
                }
            }
    }
}

TEST(Hostile, WhatRootOnlyPrintsIsAnErrorWithItsOffset) {
    const auto good = written(Holder{sample_things<Thing>(10)});
    const auto changed = [&](std::size_t offset, int by) {
        auto bytes = good;
        bytes[offset] = static_cast<char>(bytes[offset] + by);
        return refusal<Holder>(bytes).context;
    };
    EXPECT_EQ(changed(3, 1), "ROOT buffer, offset 0: reading Holder: its byte count is 157, the data ends after 156");
    EXPECT_EQ(changed(23, 1), "ROOT buffer, offset 34: reading Thing: its byte count is 1 larger than what it holds");
    EXPECT_EQ(changed(29, 1),
              "ROOT buffer, offset 24: reading Thing: checksum 0x000da4f9 is of no known shape of the class, the class "
              "here has "
              "0x000da4f8; Unknown::skip passes over it");
    EXPECT_EQ(changed(19, 1),
              "ROOT buffer, offset 160: reading Thing: 4 bytes are needed, and the byte count around them leaves 0");
}

TEST(Hostile, ACountBeyondTheBytesAllocatesNothing) {
    largest_allocation = 0;
    EXPECT_EQ(refusal<std::vector<Thing>>(from_hex("ff ff ff ff")).code, Errc::truncated);
    EXPECT_EQ(refusal<std::vector<std::vector<int>>>(from_hex("00 00 00 02 00 00 00 00")).code, Errc::truncated);
    EXPECT_EQ(refusal<std::vector<bool>>(from_hex("00 00 00 02 00")).code, Errc::truncated);
    EXPECT_EQ(refusal<std::string>(from_hex("ff ff ff ff ff 00")).code, Errc::truncated);
    EXPECT_EQ((refusal<std::map<int, int>>(from_hex("10 00 00 00 00 00 00 00 00 00 00 00")).code), Errc::truncated);
    // a member-wise vector with a count, and no columns
    EXPECT_EQ(
        refusal<Holder>(from_hex("40 00 00 16 00 00 54 a4 21 54 40 00 00 0c 40 0a 00 00 00 0d a4 f8 0f ff ff ff")).code,
        Errc::corrupt);
    EXPECT_LT(largest_allocation, 1024u);  // messages
}

TEST(Hostile, MoreThanABufferHoldsIsRefusedUnread) {
    const std::byte one{};
    Reader reader(ConstData(&one, buffer_size_max + 1));
    int number = 0;
    const auto refused = reader.stream(number);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, Errc::limit);
}

TEST(Hostile, BoolsAndEnumsHaveOnlyTheirValues) {
    EXPECT_EQ(refusal<std::vector<bool>>(from_hex("00 00 00 01 02")).context,
              "ROOT buffer, offset 4: reading bool: a byte that is neither 0 nor 1");
    EXPECT_EQ(refusal<std::vector<Level>>(from_hex("00 00 00 01 00 01 00 00")).code, Errc::corrupt);
    EXPECT_EQ(read<std::vector<Level>>(from_hex("00 00 00 01 ff ff ff ff")).at(0), Level::low);
}

TEST(Hostile, ObjectsWithoutAnyMemberComeBackInBothModes) {
    for (const Mode mode : {Mode::object_wise, Mode::member_wise})
        EXPECT_EQ(read<Empties>(written(Empties{std::vector<OnlyEmptyBase>(100)}, mode)).all.size(), 100u);
}

TEST(Hostile, AKeyThatComesTwiceIsNotDroppedInSilence) {
    EXPECT_EQ((refusal<std::map<int, bool>>(from_hex("00 00 00 02 00 00 00 01 00 00 00 00 01 01")).context),
              "ROOT buffer, offset 9: reading map<int,bool>: the same key twice");
}

TEST(Hostile, PointersThatLeadTooDeepAreAnErrorBothWays) {
    const auto chain = [](std::size_t length) {
        Chain first;
        for (auto* at = &first; length > 0; --length, at = at->next.get()) at->next = std::make_unique<Chain>();
        return first;
    };
    const auto allowed = written(chain(pointer_depth_max));
    EXPECT_EQ(written(read<Chain>(allowed)), allowed);

    Writer writer;
    const auto refused = writer.stream(chain(pointer_depth_max + 1));
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, Errc::limit);

    // one link more, made by hand around the longest chain
    auto link = [](const std::string& inner, std::uint32_t tag) {
        const auto word = [](std::size_t number) {
            std::string bytes;
            for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift);
            return bytes;
        };
        const auto checksum = static_cast<std::size_t>(class_checksum<Chain>());
        const auto object = word(0x40000000 | (6 + inner.size())) + std::string(2, '\0') + word(checksum) + inner;
        const auto name = tag == 0 ? word(0xffffffff) + std::string("Chain\0", 6) : word(0x80000000 | tag);
        return word(0x40000000 | (name.size() + object.size())) + name + object;
    };
    std::string deep(4, '\0');
    for (std::size_t i = 0; i < pointer_depth_max; ++i) deep = link(deep, 6);
    deep = link(deep, 0);
    Reader reader(as_data(deep));
    const auto read = reader.read_any<Chain>();
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(read.error().code, Errc::limit) << read.error().context;
}

TEST(Hostile, TreesThatAreTooHighAreAnErrorBothWays) {
    for (const Mode mode : {Mode::object_wise, Mode::member_wise}) {
        Tree tree;
        for (std::size_t height = 1; height < nesting_max; ++height) {
            Tree higher;
            higher.children.push_back(std::move(tree));
            tree = std::move(higher);
        }
        const auto allowed = written(tree, mode);
        EXPECT_EQ(written(read<Tree>(allowed), mode), allowed);
        Tree higher;
        higher.children.push_back(std::move(tree));
        Tree highest;
        highest.children.push_back(std::move(higher));
        Writer writer({.mode = mode});
        const auto refused = writer.stream(highest);
        ASSERT_FALSE(refused.has_value());
        EXPECT_EQ(refused.error().code, Errc::limit);
    }

    const auto word = [](std::size_t number) {
        std::string bytes;
        for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift);
        return bytes;
    };
    const auto header = std::string(2, '\0') + word(class_checksum<Tree>());
    std::string tree;
    for (std::size_t levels = 0; levels < 2000; ++levels) {
        const auto members = std::string("\0\x0a", 2) + word(levels == 0 ? 0 : 1) + tree;
        const auto object = header + word(0x40000000 | members.size()) + members;
        tree = word(0x40000000 | object.size()) + object;
    }
    EXPECT_EQ(refusal<Tree>(tree).code, Errc::limit);
}

TEST(Hostile, TwoOwnersOfOneObjectAreRefused) {
    Two two{std::make_unique<Thing>(Thing{1}), std::make_unique<Thing>(Thing{2})};
    auto bytes = written(two);
    // the second pointer becomes a reference to the first, and what it was is cut away
    const auto second = bytes.size() - 22;
    bytes = bytes.substr(0, second) + from_hex("00 00 00 0c");
    bytes[3] = static_cast<char>(bytes.size() - 4);
    const auto error = refusal<Two>(bytes);
    EXPECT_EQ(error.code, Errc::unsupported);
    EXPECT_NE(error.context.find("std::shared_ptr"), std::string::npos) << error.context;
}

}  // namespace
