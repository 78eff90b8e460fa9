// SPDX-License-Identifier: Apache-2.0
// Objects by pointer: null, new, written before; classes named once; and the limit of what one buffer holds.
#include <gtest/gtest.h>

#include <limits>
#include <new>

#include "root/allocations.hpp"
#include "streaming.hpp"
#include "things.hpp"

struct Ring {
    int number = 0;
    std::shared_ptr<Ring> next;
};
struct Other {
    int a = 0;
};
template <int inside>
struct Doll {  // every one adds a header to the wire, and nothing to memory
    Doll<inside - 1> doll;
};
template <>
struct Doll<0> {};

namespace weir::serial {
template <>
inline constexpr auto description<Ring> = members("number", "next");
template <>
inline constexpr auto description<Other> = members("a");
template <int inside>
inline constexpr auto description<Doll<inside>> = members("doll");
template <>
inline constexpr auto description<Doll<0>> = members();
}  // namespace weir::serial

namespace {

using namespace weir;
using namespace weir::serial;

TEST(References, OfClassesAndObjectsAreRootsBytes) {
    const Thing x{1};
    const Thing y{2};
    Writer writer;
    ASSERT_TRUE(writer.write_any(&x) && writer.write_any(&y) && writer.write_any(&x));
    ASSERT_TRUE(writer.write_any(static_cast<const Thing*>(nullptr)));
    EXPECT_EQ(to_hex(as_text(writer.data())),
              "40 00 00 18 ff ff ff ff 54 68 69 6e 67 00 40 00 00 0a 00 00 00 0d a4 f8 00 00 00 01 "
              "40 00 00 12 80 00 00 06 40 00 00 0a 00 00 00 0d a4 f8 00 00 00 02 "
              "00 00 00 02 00 00 00 00");

    Reader reader(writer.data());
    const auto first = reader.read_any<Thing>();
    const auto second = reader.read_any<Thing>();
    const auto again = reader.read_any<Thing>();
    const auto null = reader.read_any<Thing>();
    ASSERT_TRUE(first && second && again && null);
    EXPECT_EQ((*second)->a, 2);
    EXPECT_EQ(*first, *again);  // the same object
    EXPECT_EQ(*null, nullptr);
    EXPECT_TRUE(reader.at_end());
}

TEST(References, ARingEnds) {
    const auto one = std::make_shared<Ring>(Ring{1, nullptr});
    one->next = std::make_shared<Ring>(Ring{2, one});
    const auto bytes = written_any(one.get());
    one->next->next.reset();

    Reader reader(as_data(bytes));
    const auto read = reader.read_any<Ring>();
    ASSERT_TRUE(read.has_value()) << read.error().context;
    EXPECT_EQ((*read)->next->number, 2);
    EXPECT_EQ((*read)->next->next, *read);
    EXPECT_EQ(written_any(read->get()), bytes);
    (*read)->next->next.reset();
}

TEST(References, ARingThatEndsInAnErrorIsFreed) {
    const auto one = std::make_shared<Ring>(Ring{1, nullptr});
    one->next = std::make_shared<Ring>(Ring{2, one});
    auto bytes = written_any(one.get());
    one->next->next.reset();
    ++bytes[3];  // the outer byte count
    bytes += '\0';
    for (int round = 0; round < 2; ++round) {  // the address sanitizer looks for what is left
        Reader reader(as_data(bytes));
        EXPECT_FALSE(reader.read_any<Ring>().has_value());
        EXPECT_FALSE(reader.read_any<Ring>().has_value());
    }
}

TEST(References, DoNotMakeChainsThatAreDeeperThanPointersMayLead) {
    const auto chain = [](std::size_t length) {  // each refers to the one before
        std::vector<std::shared_ptr<Ring>> all;
        for (std::size_t i = 0; i < length; ++i)
            all.push_back(std::make_shared<Ring>(Ring{int(i), i == 0 ? nullptr : all.back()}));
        return written(all);
    };
    EXPECT_EQ(read<std::vector<std::shared_ptr<Ring>>>(chain(pointer_depth_max)).size(), pointer_depth_max);
    EXPECT_EQ(refusal<std::vector<std::shared_ptr<Ring>>>(chain(pointer_depth_max + 1)).code, Errc::limit);
}

TEST(References, QuoteNamesFromOutsideOnOneLine) {
    const std::string name = "a\n\x1b" + std::string(1000, 'b');
    std::string bytes = from_hex("40 00 03 f4 ff ff ff ff") + name;
    bytes.resize(4 + 0x3f4);
    Reader reader(as_data(bytes));
    const auto refused = reader.read_any<Thing>();
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().context,
              "ROOT buffer, offset 0: reading Thing: here is an object of another class, \"a??" + std::string(61, 'b') +
                  "...\"");
}

TEST(References, AWriterThatIsClearedHasSeenNothing) {
    const Thing thing{1};
    Writer writer;
    ASSERT_TRUE(writer.write_any(&thing));
    const std::string bytes(as_text(writer.data()));
    writer.clear();
    EXPECT_TRUE(writer.data().empty());
    ASSERT_TRUE(writer.write_any(&thing));
    EXPECT_EQ(as_text(writer.data()), bytes);
}

TEST(References, AVariableThatIsWrittenInALoopIsANewObjectEachTimeOnRequest) {
    Writer writer;
    for (int i = 0; i < 3; ++i) {
        Ring ring{i, std::make_shared<Ring>(Ring{10 + i, nullptr})};  // its next may lie where the last one's did
        ASSERT_TRUE(writer.write_new(ring).has_value());
        ASSERT_TRUE(writer.write_any(&ring).has_value());  // this one is known
    }
    Reader reader(writer.data());
    for (int i = 0; i < 3; ++i) {
        const auto first = reader.read_any<Ring>();
        const auto again = reader.read_any<Ring>();
        ASSERT_TRUE(first && again);
        EXPECT_EQ((*first)->number, i);
        EXPECT_EQ((*first)->next->number, 10 + i);
        EXPECT_EQ(*first, *again);
    }
    EXPECT_TRUE(reader.at_end());
}

TEST(References, ANewObjectNamesItsClassAgainOnlyInANewBuffer) {
    Writer writer;
    Thing thing{1};
    ASSERT_TRUE(writer.write_new(thing).has_value());
    thing.a = 2;
    ASSERT_TRUE(writer.write_new(thing).has_value());
    EXPECT_EQ(to_hex(as_text(writer.data())),
              "40 00 00 18 ff ff ff ff 54 68 69 6e 67 00 40 00 00 0a 00 00 00 0d a4 f8 00 00 00 01 "
              "40 00 00 12 80 00 00 06 40 00 00 0a 00 00 00 0d a4 f8 00 00 00 02");
    const std::string two(as_text(writer.data()));
    writer.clear();
    ASSERT_TRUE(writer.write_new(thing) && writer.write_new(thing));
    EXPECT_EQ(writer.data().size(), two.size());
}

TEST(References, ANewObjectThatDoesNotFitLeavesNothingThatIsReferredTo) {
    Writer writer({.bytes_max = 60});
    Thing thing{1};
    Holder holder{sample_things<Thing>(10)};
    ASSERT_TRUE(writer.write_new(thing).has_value());
    EXPECT_FALSE(writer.write_new(holder).has_value());
    thing.a = 2;
    ASSERT_TRUE(writer.write_any(&thing).has_value());
    EXPECT_EQ(writer.data().size(), 28u + 22u);

    Writer small({.bytes_max = 40});
    EXPECT_TRUE(small.stream(true) && !small.write_new(holder));
    small.clear();
    EXPECT_TRUE(small.write_any(&thing) && small.write_any(&thing));  // the second is a reference
    EXPECT_EQ(small.data().size(), 28u + 4u);
}

TEST(References, AnObjectOfAnotherClassIsRefusedOrPassedOver) {
    const Thing thing{1};
    const Other other{2};
    Writer writer;
    ASSERT_TRUE(writer.write_any(&other) && writer.write_any(&thing) && writer.write_any(&other));

    Reader strict(writer.data());
    const auto refused = strict.read_any<Thing>();
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().context,
              "ROOT buffer, offset 0: reading Thing: here is an object of another class, \"Other\"");

    Reader reader(writer.data(), {.unknown = Unknown::skip});
    const auto passed = reader.read_any<Thing>();
    const auto read = reader.read_any<Thing>();
    const auto again = reader.read_any<Thing>();
    ASSERT_TRUE(passed && read && again);
    EXPECT_EQ(*passed, nullptr);
    EXPECT_EQ((*read)->a, 1);
    EXPECT_EQ(*again, nullptr);
    EXPECT_EQ(reader.skipped(), 2u);
    EXPECT_TRUE(reader.at_end());
}

TEST(References, ToPlacesWhereNothingBeganAreCorrupt) {
    const auto any = [](const std::string& bytes) {
        Reader reader(as_data(bytes));
        const auto read = reader.read_any<Thing>();
        return read ? Errc::io : read.error().code;
    };
    EXPECT_EQ(any(from_hex("00 00 00 02")), Errc::corrupt);
    EXPECT_EQ(any(from_hex("40 00 00 12 80 00 00 06 40 00 00 0a 00 00 00 0d a4 f8 00 00 00 02")), Errc::corrupt);
    EXPECT_EQ(any(from_hex("40 00 00 06 ff ff ff ff 54 68")), Errc::corrupt);  // a name without its end
}

TEST(Limit, OfBytesIsAnErrorAndWhatWasWrittenBeforeStays) {
    Writer writer({.bytes_max = 1000});
    const auto things = sample_things<Thing>(40);
    const Thing thing{1};
    ASSERT_TRUE(writer.stream(things));
    const std::string before(as_text(writer.data()));
    for (int round = 0; round < 3; ++round) {
        const auto refused = writer.stream(things);
        ASSERT_FALSE(refused.has_value());
        EXPECT_EQ(refused.error().code, Errc::limit);
        EXPECT_EQ(as_text(writer.data()), before);
    }
    EXPECT_FALSE(writer.stream(Holder{things}));
    EXPECT_FALSE(writer.stream(std::string(1000, 'x')));
    EXPECT_FALSE(writer.stream(std::vector<bool>(1000)));
    ASSERT_TRUE(writer.write_any(&thing));  // what fits goes on
    EXPECT_EQ(writer.data().size(), before.size() + 28);
}

TEST(Limit, IsExact) {
    const Thing thing{1};
    Writer small({.bytes_max = 27}), exact({.bytes_max = 28}), none({.bytes_max = 0});
    EXPECT_FALSE(small.write_any(&thing));
    EXPECT_TRUE(small.stream(thing) && small.write_any<Thing>(nullptr));
    EXPECT_TRUE(exact.write_any(&thing));
    EXPECT_FALSE(exact.stream(true));
    EXPECT_EQ(exact.data().size(), 28u);
    EXPECT_FALSE(none.stream(true));
}

TEST(Limit, AnObjectThatDidNotFitIsNotReferredToLater) {
    const auto big = std::make_unique<Holder>(Holder{sample_things<Thing>(100)});
    const Holder small{sample_things<Thing>(1)};
    Writer writer({.bytes_max = 200});
    EXPECT_FALSE(writer.write_any(big.get()));
    ASSERT_TRUE(writer.write_any(&small));
    EXPECT_EQ(as_text(writer.data()), written_any(&small));
}

TEST(Limit, WhatMemoryWasShortForIsNotReferredToLater) {
    const Holder holder{sample_things<Thing>(1000)};
    const auto bytes = written_any(&holder);
    Writer writer;
    allocation_max = 4096;
    EXPECT_THROW((void)writer.write_any(&holder), std::bad_alloc);
    allocation_max = std::numeric_limits<std::size_t>::max();
    EXPECT_TRUE(writer.data().empty());
    ASSERT_TRUE(writer.write_any(&holder));
    EXPECT_TRUE(as_text(writer.data()) == bytes);

    Reader reader(as_data(bytes));
    allocation_max = 2048;
    EXPECT_THROW((void)reader.read_any<Holder>(), std::bad_alloc);
    allocation_max = std::numeric_limits<std::size_t>::max();
    const auto again = reader.read_any<Holder>();
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(**again, holder);
}

TEST(Limit, OneGibibyteIsTheFormats) {
    EXPECT_EQ(WriterOptions{}.bytes_max, 0x3ffffffeu);
    Writer writer;
    const std::vector<Doll<20>> dolls(0x3ffffffe / 210 +
                                      1);  // 5 MB here, and too much there: nothing is allocated for it
    const auto refused = writer.stream(dolls);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, Errc::limit);
    EXPECT_TRUE(writer.data().empty());
}

}  // namespace
