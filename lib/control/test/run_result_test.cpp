// SPDX-License-Identifier: Apache-2.0
#include "weir/control/run_result.hpp"

#include <gmock/gmock.h>

#include <random>

#include "run_control_fixture.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

service::EventIds ids(std::string_view set) { return service::EventIds::parse(set).value(); }

std::shared_ptr<const service::StationEvents> known(const std::map<std::string, std::string>& sets) {
    service::StationEvents events;
    for (const auto& [what, set] : sets) events.emplace(what, ids(set));
    return std::make_shared<const service::StationEvents>(std::move(events));
}

TEST(RunResult, EventsInTheFilesOfTwoRecordersAreAProblem) {
    RunResult result;
    result.stations = {{"l2sv", StationKind::supervise, {"events", 9, 9, {}, 0}, {}, known({{"accepted", "1-9"}})},
                       {"rec-1", StationKind::record, {"copies", 6, 6, {}, 0}, {}, known({{"recorded", "1-6"}})},
                       {"rec-2", StationKind::record, {"copies", 5, 5, {}, 0}, {}, known({{"recorded", "5-9"}})}};
    balance(result);
    EXPECT_THAT(result.problems, testing::ElementsAre("2 events are in the files of two recorders: 5-6"));
    EXPECT_EQ(result.events.recorded, 9U);
}

TEST(RunResult, TheLastCountsOfAStationThatIsGoneAreNoProblemWhereTheIdsSayWhatBecameOfItsEvents) {
    RunResult result;
    result.stations = {{"l2sv", StationKind::supervise, {"events", 9, 9, {}, 0}, {}, known({{"accepted", "1-9"}})},
                       {"dfm", StationKind::assign, {"events", 9, 9, {}, 0}, {}, {}},
                       {"sfi-1", StationKind::build, {"events", 9, 5, {}, 4}, {}, {}, 0, true},
                       {"rec-1", StationKind::record, {"copies", 9, 9, {}, 0}, {}, known({{"recorded", "1-9"}})}};
    balance(result);
    EXPECT_THAT(result.problems, IsEmpty());
}

/// A trigger that rejects half of 500,000 events at random, filters that reject a third of the rest, two recorders: as
/// the stations would report it, with two events lost, one in two files and one that was never accepted.
TEST(RunResult, TheAccountOfARunWithRandomRejectionIsExact) {
    std::mt19937_64 random(11);
    wire::EventIdSet accepted, rejected, first, second;
    std::vector<std::uint64_t> recorded;
    for (std::uint64_t n = 0; n < 500'000; ++n) {
        const GlobalEventId id{n};
        if (random() % 2 == 0) continue;
        accepted.insert(id);
        if (random() % 3 == 0) {
            rejected.insert(id);
        } else {
            recorded.push_back(n);
            (n / 32 % 2 == 0 ? first : second).insert(id);
        }
    }
    const auto lost = recorded[70'000], also_lost = recorded[90'001], twice = recorded[123];
    for (auto* recorder : {&first, &second}) {
        recorder->erase(GlobalEventId{lost});
        recorder->erase(GlobalEventId{also_lost});
        recorder->insert(GlobalEventId{twice});
    }
    first.insert(GlobalEventId{700'000});
    const auto over_the_port = [](const service::StationEvents& events) {
        return std::make_shared<const service::StationEvents>(service::parse_station_events(to_text(events)).value());
    };
    const auto none = service::EventIds{};
    RunResult result;
    const auto count = accepted.count();
    result.stations = {{"l2sv",
                        StationKind::supervise,
                        {"events", 500'000, count, {{"level 2", 500'000 - count}}, 0},
                        {},
                        over_the_port({{"accepted", service::EventIds(accepted)}})},
                       {"dfm",
                        StationKind::assign,
                        {"events", count, count, {}, 0},
                        {},
                        over_the_port({{"accepted", service::EventIds(accepted)},
                                       {"rejected", service::EventIds(rejected)},
                                       {"refused", none},
                                       {"failed", none},
                                       {"given up", none}})},
                       {"rec-1",
                        StationKind::record,
                        {"copies", first.count(), first.count(), {}, 0},
                        {},
                        over_the_port({{"recorded", service::EventIds(first)}})},
                       {"rec-2",
                        StationKind::record,
                        {"copies", second.count(), second.count(), {}, 0},
                        {},
                        over_the_port({{"recorded", service::EventIds(second)}})}};
    balance(result);
    ASSERT_TRUE(result.account);
    const auto& account = *result.account;
    EXPECT_EQ(account.accepted, count);
    EXPECT_EQ(account.rejected, rejected.count());
    EXPECT_EQ(account.recorded, count - rejected.count() - 2 + 1);
    ASSERT_EQ(account.lost.size(), 1U);
    EXPECT_EQ(account.lost[0].events.text(), fmt::format("{},{}", lost, also_lost));
    EXPECT_EQ(account.twice.text(), fmt::to_string(twice));
    EXPECT_EQ(account.unaccepted.text(), "700000");
}

TEST(RunResult, WithoutIdsMoreEventsThanThereWereAreAProblemToo) {
    RunResult result;
    result.stations = {{"dfm",
                        StationKind::assign,
                        {"events", 12, 7, {{"level 2", 1}, {"not selected", 2}, {"given up", 2}}, 0},
                        {},
                        {}},
                       {"rec-1", StationKind::record, {"copies", 6, 6, {}, 0}, {{"events_recorded", 6}}, known({})},
                       {"rec-2", StationKind::record, {"copies", 5, 5, {}, 0}, {{"events_recorded", 5}}, known({})}};
    balance(result);
    EXPECT_FALSE(result.account);
    EXPECT_THAT(result.problems,
                testing::ElementsAre("2 events were lost: given up (dfm)",
                                     HasSubstr("the recorders hold 11: 2 are in the files of two recorders")));
}

TEST(RunResult, TheLastAnswerOfADfmThatIsGoneMayBeOld) {
    RunResult result;
    result.stations = {{"l2sv", StationKind::supervise, {"events", 9, 9, {}, 0}, {}, known({{"accepted", "1-9"}})},
                       {"dfm",
                        StationKind::assign,
                        {"events", 4, 4, {}, 0},
                        {},
                        known({{"accepted", "1-4"}, {"rejected", "2"}, {"failed", ""}, {"given up", ""}}),
                        0,
                        true},
                       {"rec-1", StationKind::record, {"copies", 6, 6, {}, 0}, {}, known({{"recorded", "1,3-7"}})}};
    balance(result);
    ASSERT_TRUE(result.account);
    ASSERT_EQ(result.account->lost.size(), 1U);
    EXPECT_EQ(result.account->lost[0].cause, "the DFM died; filters may have rejected some of them");
    EXPECT_EQ(result.account->lost[0].events.text(), "2,8-9");
}

TEST(RunResult, AnEventThatOneFilterRejectedAndAnotherOneKeptCountsAsRecordedOnly) {
    RunResult result;
    result.stations = {
        {"l2sv", StationKind::supervise, {"events", 9, 9, {}, 0}, {}, known({{"accepted", "1-9"}})},
        {"dfm",
         StationKind::assign,
         {"events", 9, 5, {{"not selected", 4}}, 0},
         {},
         known({{"accepted", "1-9"}, {"rejected", "6-9"}, {"refused", ""}, {"failed", ""}, {"given up", ""}})},
        {"rec-1", StationKind::record, {"copies", 6, 6, {}, 0}, {}, known({{"recorded", "1-6"}})}};
    balance(result);
    ASSERT_TRUE(result.account);
    EXPECT_TRUE(result.account->good());
    EXPECT_EQ(result.account->recorded, 6U);
    EXPECT_EQ(result.account->rejected, 3U) << "6 is in a file";
}

TEST(RunResult, ALineOfManyIdsShowsWhereTheOthersStand) {
    std::string recorded;
    for (int id = 2; id <= 1000; id += 2) recorded += fmt::format("{}{}", recorded.empty() ? "" : ",", id);
    RunResult result;
    result.stations = {
        {"l2sv", StationKind::supervise, {"events", 1000, 1000, {}, 0}, {}, known({{"accepted", "1-1000"}})},
        {"rec-1", StationKind::record, {"copies", 500, 500, {}, 0}, {}, known({{"recorded", recorded}})}};
    balance(result);
    EXPECT_THAT(result.problems,
                Contains(testing::EndsWith(",... (more of them: table run_parameters of the recorders' catalogues)")));
}

TEST(RunResult, ARecorderThatDoesNotKnowIdsLeavesTheCounts) {
    RunResult result;
    result.stations = {{"l2sv", StationKind::supervise, {"events", 9, 9, {}, 0}, {}, known({{"accepted", "1-9"}})},
                       {"dfm", StationKind::assign, {"events", 9, 9, {}, 0}, {}, {}},
                       {"rec-1", StationKind::record, {"copies", 8, 8, {}, 0}, {}, known({})}};
    balance(result);
    EXPECT_FALSE(result.account);
    EXPECT_THAT(result.problems,
                testing::ElementsAre("the DFM counts 9 events as stored, and the recorders hold 8 copies"));
}

TEST(RunResult, EventsOfAUnitThatDiedCountAsForcedThoughItTookItsCountsAlong) {
    RunResult result;
    result.stations = {{"l2sv", StationKind::supervise, {"events", 9, 9, {}, 0}, {{"forced", 7}}, {}},
                       {"l2pu-1", StationKind::select, {"events", 4, 4, {}, 0}, {{"timed_out", 2}}, {}},
                       {"ef-1", StationKind::filter, {"events", 4, 4, {}, 0}, {{"crashed", 1}}, {}}};
    balance(result);
    EXPECT_EQ(result.selection.unjudged, 5U);
    EXPECT_EQ(result.selection.forced(), 8U);
}

TEST(RunResult, WhoTookItsIdsAlongIsNamed) {
    RunResult result;
    result.stations = {{"l2sv", StationKind::supervise, {"events", 9, 9, {}, 0}, {}, known({{"accepted", "1-9"}})},
                       {"dfm", StationKind::assign, {"events", 9, 9, {}, 0}, {}, {}, 0, true},
                       {"rec-1", StationKind::record, {"copies", 9, 9, {}, 0}, {}, {}, 0, true}};
    balance(result);
    EXPECT_FALSE(result.account);
    EXPECT_THAT(result.problems,
                testing::ElementsAre(HasSubstr("because rec-1 did not report which events have been recorded")));

    result.problems.clear();
    result.stations[0].events.reset();
    result.stations[2].events = known({{"recorded", "1-9"}});
    balance(result);
    EXPECT_THAT(result.problems,
                testing::ElementsAre(HasSubstr("because l2sv and dfm did not report which events were accepted")));
}

}  // namespace
}  // namespace weir::control
