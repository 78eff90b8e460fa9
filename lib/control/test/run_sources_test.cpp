// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "weir/control/run_result.hpp"

namespace weir::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<Peer> readouts{{.name = "ros-1", .kind = StationKind::readout, .sources = {SourceId{1}, SourceId{2}}},
                                 {.name = "ros-2", .kind = StationKind::readout, .sources = {SourceId{3}}}};

TEST(RunSources, AddUpWhatReadoutsAndBuildersCountAndKeepProcessingUnitsApart) {
    const std::vector<StationResult> stations{
        {.name = "ros-1", .sources = {{.source = SourceId{1}, .outside = true, .arrived = 90, .bytes = 900}}},
        {.name = "sfi-1",
         .kind = StationKind::build,
         .sources = {{.source = SourceId{1}, .expected = 60, .missing = 6}}},
        {.name = "sfi-2",
         .kind = StationKind::build,
         .sources = {{.source = SourceId{1}, .expected = 40, .missing = 4}}},
        {.name = "l2pu",
         .kind = StationKind::select,
         .sources = {{.source = SourceId{1}, .expected = 50, .missing = 5}}}};
    const auto sources = sources_of(stations, readouts);
    ASSERT_EQ(sources.size(), 3U) << "also those of which nothing is known yet";
    EXPECT_EQ(
        sources[0].counts,
        (service::SourceStatus{
            .source = SourceId{1}, .outside = true, .arrived = 90, .bytes = 900, .expected = 100, .missing = 10}));
    EXPECT_EQ(sources[0].missing_level2, 5U);
    EXPECT_EQ(name(sources[0]), "0x000001 of ros-1");
    EXPECT_EQ(name(sources[2]), "0x000003 of ros-2");
}

TEST(RunSources, OfManyThoseAreShownThatMissMost) {
    std::vector<RunSource> sources;
    for (std::uint32_t i = 0; i < 100; ++i)
        sources.push_back({.counts = {.source = SourceId{i}, .missing = i == 70 || i == 20 ? 9U : 0U}});
    const auto shown = worst(sources, 3);
    ASSERT_EQ(shown.size(), 3U);
    EXPECT_EQ(shown[0].counts.source, SourceId{0});
    EXPECT_EQ(shown[1].counts.source, SourceId{20});
    EXPECT_EQ(shown[2].counts.source, SourceId{70});
}

TEST(RunSources, TooManyIncompleteEventsAreAProblemThatNamesTheSources) {
    RunResult result;
    result.events = {.built = 82, .incomplete = 82};
    result.sources = {{.counts = {.source = SourceId{0x420000}, .expected = 82, .missing = 82}, .readout = "ros-1"},
                      {.counts = {.source = SourceId{0x420001}, .expected = 82}, .readout = "ros-1"}};
    check_incomplete(result, {.share = 1, .events = 0});
    EXPECT_THAT(result.problems, IsEmpty());
    check_incomplete(result, {});
    EXPECT_THAT(result.problems,
                ElementsAre("82 of 82 events are incomplete, more than incomplete_max (0.1% or 10): source 0x420000 of "
                            "ros-1 was missing in 82 of 82"));
}

TEST(RunSources, AProblemNamesTenSourcesAtMost) {
    RunResult result;
    result.events = {.built = 50, .incomplete = 50};
    for (std::uint32_t i = 1; i <= 30; ++i)
        result.sources.push_back({.counts = {.source = SourceId{i}, .expected = 50, .missing = i}});
    check_incomplete(result, {});
    ASSERT_EQ(result.problems.size(), 1U);
    EXPECT_THAT(result.problems[0], HasSubstr(": source 0x00001e was missing in 30 of 50, source 0x00001d "));
    EXPECT_THAT(result.problems[0], HasSubstr(", and 20 other sources"));
}

service::EventIds level1_ids(const char* text) { return service::EventIds::parse(text).value(); }

TEST(RunTriggers, ThoseThatDidNotBecomeEventsAreNamedAndTooManyAreAProblem) {
    const auto ids =
        std::make_shared<service::StationEvents>(service::StationEvents{{"triggers lost", level1_ids("5-15")},
                                                                        {"triggers out of order", level1_ids("17")},
                                                                        {"triggers doubled", level1_ids("2")}});
    RunResult result;
    result.stations = {
        {.name = "l2sv",
         .kind = StationKind::supervise,
         .ledger = {.received = 90, .stored = 70, .rejected = {{"level 2", 18}, {"out_of_order", 1}, {"duplicate", 1}}},
         .counters =
             {{"triggers_lost", 11}, {"triggers_out_of_order", 1}, {"triggers_doubled", 1}, {"level1_ids_skipped", 12}},
         .events = ids}};
    result.events = events_of(result.stations);
    EXPECT_EQ(result.events.rejected, 18U);
    EXPECT_EQ(result.events.triggers, 88U) << "those that were taken, and not the two that were refused";
    result.triggers = triggers_of(result.stations);
    EXPECT_EQ(result.triggers.faults_text(),
              "11 lost (level-1 ids 5-15), 1 out of order (level-1 id 17), 1 doubled (level-1 id 2)");
    EXPECT_EQ(decisions_of(result.stations[0].ledger, result.stations[0].counters), 100U);
    check_triggers(result, {.share = 0, .events = 12});
    EXPECT_THAT(result.problems, IsEmpty());
    check_triggers(result, {});
    EXPECT_THAT(result.problems,
                ElementsAre("12 of 100 triggers did not become events, more than incomplete_max (0.1% or 10): 11 lost "
                            "(level-1 ids 5-15), 1 out of order (level-1 id 17)"));
}

TEST(RunTriggers, ADoubledTriggerIsNamedAndCountedAsRefusedAndNoProblemAsADoubledFragmentIsNone) {
    RunResult result;
    result.stations = {
        {.name = "l2sv",
         .kind = StationKind::supervise,
         .ledger = {.received = 15'013,
                    .stored = 9'000,
                    .rejected = {{"level 2", 900}, {"duplicate", 5000}, {"malformed", 3}, {"stopping", 10}},
                    .in_hand = 100},
         .counters = {{"triggers_doubled", 5000}},
         .events = std::make_shared<service::StationEvents>(
             service::StationEvents{{"triggers doubled", level1_ids("1-5000")}})}};
    result.events = events_of(result.stations);
    result.triggers = triggers_of(result.stations);
    EXPECT_EQ(result.events.triggers, 10'000U);
    EXPECT_EQ(result.triggers.refused(), 5003U) << "those that came when the run was over are no fault";
    check_triggers(result, {.share = 0, .events = 0});
    EXPECT_THAT(result.problems, IsEmpty());
    EXPECT_EQ(result.triggers.faults_text(), "5000 doubled (level-1 ids 1-5000), 3 malformed");
}

TEST(RunTriggers, APlugInThatCrashedOrHungIsAProblemSinceWhatIsMissingIsNotKnown) {
    RunResult result;
    result.stations = {{.name = "l2sv",
                        .kind = StationKind::supervise,
                        .counters = {{"trigger_plug_in_crashed", 2}, {"trigger_plug_in_hung", 1}}}};
    result.triggers = triggers_of(result.stations);
    check_triggers(result, {});
    EXPECT_THAT(result.problems,
                ElementsAre("the trigger plug-in crashed 2 times, hung 1 time: triggers of that time are missing"));
}

}  // namespace
}  // namespace weir::control
