// SPDX-License-Identifier: Apache-2.0
// Classes change, and bytes of older and newer programs meet: what is read of them, what is not, and what is reported.
#include <gtest/gtest.h>

#include "streaming.hpp"

// Three states of one class, as programs of three years would know it; ROOT's name is always Hit.
struct OldHit {
    int channel = 0;
};
struct Hit {
    int channel = 0;
    float energy = -1;  // what a hit has that was written without one
};
struct NewHit {
    int channel = 0;
    float energy = -1;
    std::string note = "none";
};
struct OtherHit {
    double where = 0;
};
struct OldHitV {
    int channel = 0;
};
struct NewHitV {
    int channel = 0;
    float energy = -1;
    std::vector<int> cells{7};
};
struct CellV1 {
    int a = 0;
    float c = 0;
};
struct CellV2 {  // a member has come in between
    int a = 0;
    int b = -1;
    float c = 0;
};
struct SilentCell {  // the same, and its description does not name version 1
    int a = 0;
    int b = -1;
    float c = 0;
};
struct CellV3 {  // a is now called first, and b has become a text
    int first = 0;
    std::string b;
    float c = 0;
};
inline CellV3 from_version_1(CellV1 old) { return {old.a, "none", old.c}; }
inline CellV3 from_version_2(CellV2 old) { return {old.a, std::to_string(old.b), old.c}; }
struct BaseV1 {
    int b = 0;
};
struct BaseV2 {
    int b = 0;
    int more = 0;
};
template <class B>
struct DerivedV1 : B {
    int d = 0;
};
template <class B>
struct DerivedV2 : B {
    int d = 0;
    int e = -1;
};
struct Table {
    std::map<int, float> map{};
};
template <class H>
struct Rows {
    std::vector<H> rows[2]{};
    int number = 0;
};
template <class H>
struct Event {
    std::vector<H> hits{};
    int number = 0;
};

namespace weir::serial {
template <>
inline constexpr auto description<OldHit> = members("channel").class_name("Hit");
template <>
inline constexpr auto description<Hit> = members("channel", "energy");
template <>
inline constexpr auto description<NewHit> = members("channel", "energy", "note").class_name("Hit");
template <>
inline constexpr auto description<OtherHit> = members("where").class_name("Hit");
template <>
inline constexpr auto description<OldHitV> = version(1).class_name("HitV").grows_at_end();
template <>
inline constexpr auto description<NewHitV> =
    members("channel", member("energy").since(2), member("cells").since(2)).version(2).class_name("HitV");
template <>
inline constexpr auto description<CellV1> = members("a", "c").version(1).class_name("Cell");
template <>
inline constexpr auto description<CellV2> = members("a", member("b").since(2), "c").version(2).class_name("Cell");
template <>
inline constexpr auto description<SilentCell> = members("a", "b", "c").version(2).class_name("Cell");
template <>
inline constexpr auto description<CellV3> =
    members("first", "b", "c").version(3).class_name("Cell").older(from_version_1).older(from_version_2);
template <>
inline constexpr auto description<BaseV1> = members("b").version(1).class_name("Base");
template <>
inline constexpr auto description<BaseV2> = members("b", member("more").since(2)).version(2).class_name("Base");
template <class B>
inline constexpr auto description<DerivedV1<B>> =
    fields(base<B>(), field("d", &DerivedV1<B>::d)).version(1).class_name("Derived");
template <class B>
inline constexpr auto description<DerivedV2<B>> =
    fields(base<B>(), field("d", &DerivedV2<B>::d), field("e", &DerivedV2<B>::e).since(2))
        .version(2)
        .class_name("Derived");
template <>
inline constexpr auto description<Table> = members("map");
template <class H>
inline constexpr auto description<Rows<H>> = members("rows", "number").class_name("Rows");
template <class H>
inline constexpr auto description<Event<H>> = members("hits", "number").class_name("Event");
}  // namespace weir::serial

namespace {

using namespace weir;
using namespace weir::serial;

class Evolution : public testing::TestWithParam<Mode> {};
INSTANTIATE_TEST_SUITE_P(, Evolution, testing::Values(Mode::object_wise, Mode::member_wise), [](const auto& mode) {
    return std::string(mode.param == Mode::object_wise ? "ObjectWise" : "MemberWise");
});

TEST_P(Evolution, MembersThatWereAddedSinceAreFreshAndTheirAbsenceIsProvenByTheChecksum) {
    const auto bytes = written(Event<OldHit>{{{1}, {2}}, 9}, GetParam());
    for (const bool used_before : {false, true}) {
        Event<NewHit> event;
        if (used_before) event = {{{5, 5, "stale"}, {6, 6, "stale"}, {7, 7, "stale"}}, 1};
        Reader reader(as_data(bytes));
        const auto ok = reader.stream(event);
        ASSERT_TRUE(ok.has_value()) << ok.error().context;
        ASSERT_EQ(event.hits.size(), 2u);
        EXPECT_EQ(event.hits[1].channel, 2);
        EXPECT_EQ(event.hits[1].energy, -1);
        EXPECT_EQ(event.hits[1].note, "none");
        EXPECT_EQ(event.number, 9);
        EXPECT_GT(reader.evolved(), 0u);
        EXPECT_EQ(reader.skipped(), 0u);
    }
}

TEST_P(Evolution, AShapeThatIsNotKnownIsAnErrorWithBothChecksums) {
    const auto bytes = written(Event<OtherHit>{{{1}, {2}}, 9}, GetParam());
    const auto error = refusal<Event<Hit>>(bytes);
    EXPECT_EQ(error.code, Errc::unsupported);
    EXPECT_NE(error.context.find("offset "), std::string::npos) << error.context;
    EXPECT_NE(error.context.find("reading Hit: checksum 0x"), std::string::npos) << error.context;
}

TEST_P(Evolution, AShapeThatIsNotKnownIsPassedOverAndCountedWhenThatIsWanted) {
    const auto bytes = written(Event<NewHit>{{{1, 2, "a"}, {3, 4, "b"}}, 9}, GetParam());
    Reader reader(as_data(bytes), {.unknown = Unknown::skip});
    Event<Hit> event{{{5, 5}}, 1};
    ASSERT_TRUE(reader.stream(event).has_value());
    EXPECT_TRUE(reader.at_end());
    EXPECT_EQ(event.number, 9);  // what stands behind is in its place
    if (GetParam() == Mode::object_wise) {
        ASSERT_EQ(event.hits.size(), 2u);
        EXPECT_EQ(event.hits[0].channel, 0);
        EXPECT_EQ(reader.skipped(), 2u);
    } else {
        EXPECT_TRUE(event.hits.empty());
        EXPECT_EQ(reader.skipped(), 1u);
    }
}

TEST_P(Evolution, OfANewerVersionTheMembersWeKnowAreReadAndTheRestIsPassedOver) {
    const auto bytes = written(Event<NewHitV>{{{1, 2, {3}}, {4, 5, {}}}, 9}, GetParam());
    Reader reader(as_data(bytes));
    Event<OldHitV> event;
    const auto ok = reader.stream(event);
    ASSERT_TRUE(ok.has_value()) << ok.error().context;
    ASSERT_EQ(event.hits.size(), 2u);
    EXPECT_EQ(event.hits[1].channel, 4);
    EXPECT_EQ(event.number, 9);
    EXPECT_TRUE(reader.at_end());
    EXPECT_GT(reader.evolved(), 0u);
}

TEST_P(Evolution, OfAnOlderVersionTheMembersThatItHasAreRead) {
    const auto bytes = written(Event<OldHitV>{{{1}, {4}}, 9}, GetParam());
    const auto event = read<Event<NewHitV>>(bytes);
    ASSERT_EQ(event.hits.size(), 2u);
    EXPECT_EQ(event.hits[1].channel, 4);
    EXPECT_EQ(event.hits[1].energy, -1);
    EXPECT_EQ(event.hits[1].cells, std::vector{7});
    EXPECT_EQ(event.number, 9);
}

TEST_P(Evolution, AnotherVersionThatTheDescriptionDoesNotKnowIsAnErrorAndNeverMisread) {
    const auto old = written(Event<CellV1>{{{1, 1.5F}, {2, 2.5F}}, 9}, GetParam());
    const auto refused = refusal<Event<SilentCell>>(old);
    EXPECT_EQ(refused.code, Errc::unsupported);
    EXPECT_NE(refused.context.find("reading Cell: version 1, and the class here is version 2"), std::string::npos)
        << refused.context;
    const auto newer = written(Event<CellV3>{{{1, "2", 3}}, 9}, GetParam());
    EXPECT_EQ(refusal<Event<CellV2>>(newer).code, Errc::unsupported);

    Reader reader(as_data(old), {.unknown = Unknown::skip});
    Event<SilentCell> event;
    ASSERT_TRUE(reader.stream(event).has_value());
    EXPECT_EQ(event.number, 9);
    EXPECT_EQ(reader.skipped(), GetParam() == Mode::object_wise ? 2u : 1u);
    EXPECT_EQ(reader.evolved(), 0u);
}

TEST_P(Evolution, AReaderMayTakeForGrantedThatVersionsDifferAtTheEndOnly) {
    const auto old = written(Event<CellV1>{{{1, 1.5F}}, 9}, GetParam());
    const auto event = read<Event<SilentCell>>(old, {.other_versions = OtherVersions::in_order});
    EXPECT_EQ(event.hits.at(0).a, 1);
    EXPECT_EQ(event.hits.at(0).b, 1069547520);  // wrong, as the reader was warned
    const auto newer = written(Event<SilentCell>{{{1, 2, 3}}, 9}, GetParam());
    const auto event_of_old = read<Event<CellV1>>(newer, {.other_versions = OtherVersions::in_order});
    EXPECT_EQ(event_of_old.hits.at(0).a, 1);
    EXPECT_EQ(event_of_old.number, 9);
}

TEST_P(Evolution, AMemberThatCameInBetweenIsReadByTheVersionSinceWhichItIsThere) {
    const auto bytes = written(Event<CellV1>{{{1, 1.5F}, {2, 2.5F}}, 9}, GetParam());
    Reader reader(as_data(bytes));
    Event<CellV2> event{{{7, 7, 7}, {8, 8, 8}, {9, 9, 9}}, 1};
    const auto ok = reader.stream(event);
    ASSERT_TRUE(ok.has_value()) << ok.error().context;
    ASSERT_EQ(event.hits.size(), 2u);
    EXPECT_EQ(event.hits[1].a, 2);
    EXPECT_EQ(event.hits[1].b, -1);
    EXPECT_EQ(event.hits[1].c, 2.5F);
    EXPECT_EQ(event.number, 9);
    EXPECT_GT(reader.evolved(), 0u);
}

TEST_P(Evolution, AnOlderVersionThatIsAClassOfItsOwnIsConverted) {
    const auto first = written(Event<CellV1>{{{1, 1.5F}, {2, 2.5F}}, 9}, GetParam());
    const auto from_first = read<Event<CellV3>>(first);
    ASSERT_EQ(from_first.hits.size(), 2u);
    EXPECT_EQ(from_first.hits[1].first, 2);
    EXPECT_EQ(from_first.hits[1].b, "none");
    EXPECT_EQ(from_first.hits[1].c, 2.5F);
    const auto second = written(Event<CellV2>{{{1, 5, 1.5F}}, 9}, GetParam());
    EXPECT_EQ(read<Event<CellV3>>(second).hits.at(0).b, "5");
    EXPECT_EQ(read<Event<CellV3>>(second).number, 9);
}

TEST_P(Evolution, BytesThatDoNotFillAnOlderVersionExactlyAreCorrupt) {
    auto bytes = written(std::vector<CellV1>{{1, 1.5F}}, GetParam()) + std::string(1, '\0');
    ++bytes[7];  // the byte count of the cell
    EXPECT_EQ(refusal<std::vector<CellV2>>(bytes).code, Errc::corrupt);
    EXPECT_EQ(refusal<std::vector<CellV3>>(bytes).code, Errc::corrupt);
}

TEST_P(Evolution, InColumnsABaseThatMayHaveChangedTooIsNotGuessed) {
    const auto steady = written(Event<DerivedV1<BaseV1>>{{{{1}, 2}, {{3}, 4}}, 9}, GetParam());
    const auto read_steady = read<Event<DerivedV2<BaseV1>>>(steady);
    EXPECT_EQ(read_steady.hits.at(1).b, 3);
    EXPECT_EQ(read_steady.hits.at(1).d, 4);
    EXPECT_EQ(read_steady.hits.at(1).e, -1);
    const auto changed = written(Event<DerivedV1<BaseV1>>{{{{1}, 2}, {{3}, 4}}, 9}, GetParam());
    if (GetParam() == Mode::member_wise) {
        EXPECT_EQ(refusal<Event<DerivedV2<BaseV2>>>(changed).code, Errc::unsupported);
    } else {
        EXPECT_EQ(read<Event<DerivedV2<BaseV2>>>(changed).hits.at(1).d, 4);  // the base states its version there
    }
}

TEST_P(Evolution, AMapThatIsReadAgainHoldsOnlyTheLast) {
    Table map;
    for (const auto& now : {std::map<int, float>{{1, 2}, {3, 4}}, std::map<int, float>{{3, 5}}}) {
        const auto bytes = written(Table{now}, GetParam());
        Reader reader(as_data(bytes));
        ASSERT_TRUE(reader.stream(map).has_value());
        EXPECT_EQ(map.map, now);
    }
}

TEST(EvolutionMemberWise, OfAnotherVersionUnderOneByteCountTheStartOfTheSecondCollectionIsUnknown) {
    const auto one = written(Event<NewHitV>{{{1, 2, {3}}}, 9}, Mode::member_wise);
    EXPECT_EQ(read<Event<OldHitV>>(one).number, 9);

    const auto known = written(Rows<OldHitV>{{{{1}}, {{2}}}, 9}, Mode::member_wise);
    EXPECT_EQ(read<Rows<NewHitV>>(known).rows[1].at(0).channel, 2);  // since() decides how many columns there are

    const auto rows = written(Rows<NewHitV>{{{{1, 1, {}}}, {{2, 2, {}}}}, 9}, Mode::member_wise);
    const auto refused = refusal<Rows<OldHitV>>(rows);
    EXPECT_EQ(refused.code, Errc::unsupported);
    EXPECT_TRUE(refused.context.starts_with("ROOT buffer, offset 10: reading HitV: another version"))
        << refused.context;

    const Event<Event<NewHitV>> tracks{{{{{1, 2, {3}}}, 4}, {{{5, 6, {}}}, 7}}, 9};
    const auto columns = written(tracks, Mode::member_wise);
    EXPECT_EQ(refusal<Event<Event<OldHitV>>>(columns).code, Errc::unsupported);
    Reader reader(as_data(columns), {.unknown = Unknown::skip});
    Event<Event<OldHitV>> event;
    ASSERT_TRUE(reader.stream(event).has_value());
    ASSERT_EQ(event.hits.size(), 2u);
    EXPECT_TRUE(event.hits[0].hits.empty());
    EXPECT_EQ(event.hits[1].number, 7);
    EXPECT_EQ(reader.skipped(), 1u);
    EXPECT_EQ(reader.evolved(), 0u);
}

TEST(EvolutionOfOneObject, AVersionOfAClassThatHasNoneIsNotKnown) {
    auto bytes = written(Hit{1, 2});
    bytes[5] = 1;
    EXPECT_EQ(refusal<Hit>(bytes).code, Errc::unsupported);
}

TEST(EvolutionOfOneObject, GoesBothWaysToo) {
    EXPECT_EQ(read<NewHit>(written(Hit{3, 4})).energy, 4);
    EXPECT_EQ(read<NewHitV>(written(OldHitV{3})).channel, 3);
    EXPECT_EQ(read<OldHitV>(written(NewHitV{3, 4, {5}})).channel, 3);
    EXPECT_EQ(refusal<Hit>(written(NewHit{})).code, Errc::unsupported);
}

TEST(EvolutionOfOneObject, ANewerVersionThatEndsInsideOfAMemberIsCorrupt) {
    const auto bytes = from_hex("40 00 00 08 00 03 00 00 00 01 00 00");
    const ReaderOptions options{.other_versions = OtherVersions::in_order};
    EXPECT_EQ(refusal<NewHitV>(bytes, options).code, Errc::corrupt);
}

TEST(EvolutionOfOneObject, MoreBytesThanTheSameVersionHasAreCorrupt) {
    EXPECT_EQ(refusal<OldHitV>(from_hex("40 00 00 07 00 01 00 00 00 01 00")).code, Errc::corrupt);
}

TEST(EvolutionOfOneObject, ACollectionsOwnVersionIsOfNoInterest) {
    auto bytes = written(Event<Hit>{{{1, 2}}, 3});
    ASSERT_EQ(bytes[15], 10);
    bytes[15] = 9;
    EXPECT_EQ(read<Event<Hit>>(bytes).number, 3);
}

}  // namespace
