// SPDX-License-Identifier: Apache-2.0
#include "weir/service/event_ids.hpp"

#include <gtest/gtest.h>

#include <array>

namespace weir::service {
namespace {

EventIds ids(std::string_view text) { return EventIds::parse(text).value(); }

TEST(EventIds, TheirTextIsReadBackAndIdZeroIsOne) {
    EventIds some;
    for (const auto id : {7, 0, 1, 2, 9}) some.insert(GlobalEventId{static_cast<std::uint64_t>(id)});
    EXPECT_EQ(some.text(), "0-2,7,9");
    EXPECT_EQ(some.ranges(1), "0-2,...");
    EXPECT_EQ(ids("0-2,7,9"), some);
    EXPECT_EQ(some.count(), 5U);
    EXPECT_EQ(ids("").text(), "");
}

TEST(EventIds, SetsAreComparedAsTheirIdsAre) {
    const auto a = ids("1-10,20,70000-70010"), b = ids("5-20,70005");
    EXPECT_EQ((a | b).text(), "1-20,70000-70010");
    EXPECT_EQ((a & b).text(), "5-10,20,70005");
    EXPECT_EQ((a - b).text(), "1-4,70000-70004,70006-70010");
}

TEST(EventIds, BeyondTheirBoundNothingIsKnownNorOfWhatIsComparedWithThem) {
    EventIds some(1_KiB);
    for (std::uint64_t i = 0; i < 9; ++i) some.insert(GlobalEventId{100'000 * i});
    EXPECT_FALSE(some.known());
    EXPECT_TRUE(some.empty());
    EXPECT_FALSE((ids("1-3") - some).known());
    EXPECT_FALSE((ids("1-3") | some).known());
    EXPECT_FALSE((ids("1-3") & some).known());
    EXPECT_FALSE((some | ids("1-3")).known());
    EXPECT_EQ(EventIds::parse("0,100000,200000,300000,400000,500000,600000,700000,800000", 1_KiB).error().code,
              Errc::limit);
}

TEST(EventIds, WhatAStationSaysIsReadBackWithoutWhatItDoesNotKnow) {
    EventIds unknown(Bytes{1});
    unknown.insert(GlobalEventId{1});
    const StationEvents events{{"accepted", ids("0-5")}, {"given up", ids("")}, {"recorded", unknown}};
    const auto text = to_text(events);
    EXPECT_EQ(text, "accepted\t0-5\ngiven up\t\n");
    const auto again = parse_station_events(text).value();
    EXPECT_EQ(again, (StationEvents{{"accepted", ids("0-5")}, {"given up", ids("")}}));
    EXPECT_TRUE(parse_station_events("")->empty());
    for (const auto* bad :
         {"accepted\t0-5", "accepted 0-5\n", "\t0-5\n", "accepted\t5-1\n", "accepted\t1\naccepted\t2\n", "\n"})
        EXPECT_EQ(parse_station_events(bad).error().code, Errc::corrupt) << bad;
    std::string many;
    for (char c = 'a'; c < 'j'; ++c) many += std::string(1, c) + "\t1\n";
    EXPECT_EQ(parse_station_events(many).error().code, Errc::limit);
}

}  // namespace
}  // namespace weir::service
