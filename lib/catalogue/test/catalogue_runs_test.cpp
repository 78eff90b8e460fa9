// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <limits>

#include "catalogue_fixture.hpp"

namespace weir::catalogue {
namespace {

using testing::HasSubstr;

class CatalogueRuns : public CatalogueTest {};

TEST_F(CatalogueRuns, ANewRunIsFreshAndOneLeftOpenIsContinued) {
    {
        auto catalogue = open();
        EXPECT_EQ(catalogue->open_run(start(17)).value(), RunOpening::fresh);
    }
    auto catalogue = open();
    EXPECT_EQ(catalogue->open_run(start(17)).value(), RunOpening::continued);
    const auto rows = catalogue->runs(RunNumber{17}).value();
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0], (RunRow{RunNumber{17}, "recorder-1", OpenState::opened, "receipt", "", time_of(0), {}}));
}

TEST_F(CatalogueRuns, AClosedRunIsRefusedAndTheNextFreeNumberNamed) {
    auto catalogue = open();
    ASSERT_TRUE(catalogue->open_run(start(17)).has_value());
    ASSERT_TRUE(catalogue->close_run(RunNumber{17}, "recorder-1", time_of(100)).has_value());
    const auto again = catalogue->open_run(start(17));
    ASSERT_FALSE(again.has_value());
    EXPECT_EQ(again.error().code, Errc::refused);
    EXPECT_EQ(again.error().context,
              "run 17 was closed on 2023-11-14 22:15:00 UTC; choose another number, the next free one is 18");
    EXPECT_EQ(catalogue->runs(RunNumber{17}).value()[0].state, OpenState::closed);
}

TEST_F(CatalogueRuns, ARunThatThisRecorderClosedGoesOnWhereItIsOpenedAgain) {
    auto catalogue = open();
    ASSERT_TRUE(catalogue->open_run(start(17)).has_value());
    auto file = file_of(17);
    ASSERT_TRUE(catalogue->file_opened(file).has_value());
    ASSERT_TRUE(catalogue->file_closed(close_of(file), {}, {}).has_value());
    ASSERT_TRUE(catalogue->close_run(RunNumber{17}, "recorder-1", time_of(100)).has_value());
    auto again = start(17);
    again.again = true;
    EXPECT_EQ(catalogue->open_run(again).value(), RunOpening::continued);
    EXPECT_EQ(catalogue->runs(RunNumber{17}).value()[0].state, OpenState::opened);
    EXPECT_FALSE(catalogue->runs(RunNumber{17}).value()[0].ended);
    EXPECT_EQ(catalogue->streams(RunNumber{17}).value().at(0).state, OpenState::opened);
    ASSERT_TRUE(catalogue->close_run(RunNumber{17}, "recorder-1", time_of(200)).has_value());
    EXPECT_EQ(catalogue->runs(RunNumber{17}).value()[0].ended, time_of(200));
    EXPECT_EQ(catalogue->streams(RunNumber{17}).value().at(0).state, OpenState::closed);
}

TEST_F(CatalogueRuns, ARunThatOthersHaveClosedIsNotOpenedAgainByOneThatWasNotThere) {
    auto catalogue = open();
    ASSERT_TRUE(catalogue->open_run(start(17, "recorder-1")).has_value());
    ASSERT_TRUE(catalogue->close_run(RunNumber{17}, "recorder-1", time_of(100)).has_value());
    auto again = start(17, "recorder-2");
    again.again = true;
    EXPECT_FALSE(catalogue->open_run(again));
}

TEST_F(CatalogueRuns, ARunClosedElsewhereIsRefusedButOneStillOpenElsewhereIsJoined) {
    auto catalogue = open();
    ASSERT_TRUE(catalogue->open_run(start(5, "recorder-1")).has_value());
    EXPECT_EQ(catalogue->open_run(start(5, "recorder-2")).value(), RunOpening::fresh);
    ASSERT_TRUE(catalogue->close_run(RunNumber{5}, "recorder-1", time_of(10)).has_value());
    EXPECT_FALSE(catalogue->open_run(start(5, "recorder-1")).has_value());
    EXPECT_EQ(catalogue->open_run(start(5, "recorder-3")).value(), RunOpening::fresh);
    ASSERT_TRUE(catalogue->close_run(RunNumber{5}, "recorder-2", time_of(11)).has_value());
    ASSERT_TRUE(catalogue->close_run(RunNumber{5}, "recorder-3", time_of(12)).has_value());
    const auto late = catalogue->open_run(start(5, "recorder-4"));
    ASSERT_FALSE(late.has_value());
    EXPECT_EQ(late.error().code, Errc::refused);
}

TEST_F(CatalogueRuns, TheNextFreeRunIsAboveEveryKnownOne) {
    auto catalogue = open();
    EXPECT_EQ(catalogue->next_free_run().value(), RunNumber{1});
    ASSERT_TRUE(catalogue->open_run(start(41)).has_value());
    ASSERT_TRUE(catalogue->open_run(start(7)).has_value());
    EXPECT_EQ(catalogue->next_free_run().value(), RunNumber{42});
    ASSERT_TRUE(catalogue->open_run(start(std::numeric_limits<std::uint32_t>::max())).has_value());
    const auto none = catalogue->next_free_run();
    ASSERT_FALSE(none.has_value());
    EXPECT_EQ(none.error().code, Errc::limit);
}

TEST_F(CatalogueRuns, ARunWithAnOpenFileCannotBeClosed) {
    auto catalogue = open();
    ASSERT_TRUE(catalogue->open_run(start(3)).has_value());
    const auto file = file_of(3);
    ASSERT_TRUE(catalogue->file_opened(file).has_value());
    const auto closed = catalogue->close_run(RunNumber{3}, "recorder-1", time_of(9));
    ASSERT_FALSE(closed.has_value());
    EXPECT_EQ(closed.error().code, Errc::refused);
    EXPECT_THAT(closed.error().context, HasSubstr("still open (1)"));
    ASSERT_TRUE(catalogue->file_closed(close_of(file)).has_value());
    EXPECT_TRUE(catalogue->close_run(RunNumber{3}, "recorder-1", time_of(9)).has_value());
    EXPECT_TRUE(catalogue->close_run(RunNumber{3}, "recorder-1", time_of(99)).has_value());
    EXPECT_EQ(catalogue->runs(RunNumber{3}).value()[0].ended, time_of(9));
}

TEST_F(CatalogueRuns, ClosingARunThatWasNeverOpenedIsRefused) {
    const auto closed = open()->close_run(RunNumber{9}, "recorder-1", time_of(0));
    ASSERT_FALSE(closed.has_value());
    EXPECT_EQ(closed.error().code, Errc::refused);
}

TEST_F(CatalogueRuns, RelaxationsOfEveryContinuationStayOnRecord) {
    auto catalogue = open();
    auto relaxed = start(8);
    relaxed.relaxations = "no sync";
    ASSERT_TRUE(catalogue->open_run(relaxed).has_value());
    ASSERT_TRUE(catalogue->open_run(start(8)).has_value());
    relaxed.relaxations = "no journal";
    relaxed.mode = "off";
    ASSERT_TRUE(catalogue->open_run(relaxed).has_value());
    const auto row = catalogue->runs(RunNumber{8}).value().at(0);
    EXPECT_EQ(row.relaxations, "no sync, no journal");
    EXPECT_EQ(row.mode, "receipt, off");
}

TEST_F(CatalogueRuns, StreamsAndLumiBlocksFollowTheFiles) {
    auto catalogue = open();
    ASSERT_TRUE(catalogue->open_run(start(2)).has_value());
    const auto file = file_of(2);
    ASSERT_TRUE(catalogue->file_opened(file).has_value());
    const BlocksClosed block{RunNumber{2}, "recorder-1", 0, {{"physics", "Main", LumiBlock{7}}}, time_of(50)};
    ASSERT_TRUE(catalogue->lumi_blocks_closed(block).has_value());
    EXPECT_EQ(catalogue->lumi_blocks(RunNumber{2}).value().at(0).state, OpenState::opened);  // a file of it is open
    ASSERT_TRUE(catalogue->file_closed(close_of(file)).has_value());
    ASSERT_TRUE(catalogue->lumi_blocks_closed(block).has_value());
    EXPECT_EQ(
        catalogue->lumi_blocks(RunNumber{2}).value(),
        (std::vector<LumiBlockRow>{{RunNumber{2}, "recorder-1", "physics", "Main", LumiBlock{7}, OpenState::closed}}));
    EXPECT_EQ(catalogue->streams(RunNumber{2}).value(),
              (std::vector<StreamRow>{{RunNumber{2}, "recorder-1", "physics", "Main", OpenState::opened}}));

    const auto late = file_of(2, 2);  // opens its block again
    ASSERT_TRUE(catalogue->file_opened(late).has_value());
    EXPECT_EQ(catalogue->lumi_blocks(RunNumber{2}).value().at(0).state, OpenState::opened);
    ASSERT_TRUE(catalogue->file_closed(close_of(late)).has_value());
    ASSERT_TRUE(catalogue->close_run(RunNumber{2}, "recorder-1", time_of(70)).has_value());
    EXPECT_EQ(catalogue->lumi_blocks(RunNumber{2}).value().at(0).state, OpenState::closed);
    EXPECT_EQ(catalogue->streams(RunNumber{2}).value().at(0).state, OpenState::closed);
}

TEST_F(CatalogueRuns, ABlockIsCompleteWhenEveryRecorderOfTheRunHasClosedItAndTransferredWhenItsFilesAre) {
    auto catalogue = open();
    for (const auto* recorder : {"recorder-1", "recorder-2"})
        ASSERT_TRUE(catalogue->open_run(start(2, recorder)).has_value());
    const RunNumber run{2};
    const auto progress = [&] { return good(catalogue->block_progress(run)).at(0).progress; };
    const auto closed = [&](std::string recorder, std::uint64_t below, bool row) {
        BlocksClosed blocks{run, std::move(recorder), below, {}, time_of(50)};
        if (row) blocks.blocks.push_back({"physics", "Main", LumiBlock{7}});
        ASSERT_TRUE(catalogue->lumi_blocks_closed(blocks).has_value());
    };
    const auto file = file_of(2);
    ASSERT_TRUE(catalogue->file_opened(file).has_value());
    closed("recorder-2", 7, false);  // not this one yet
    ASSERT_TRUE(catalogue->file_closed(close_of(file)).has_value());
    closed("recorder-1", 0, true);
    EXPECT_EQ(progress(), Progress::opened);
    closed("recorder-2", 8, false);
    EXPECT_EQ(
        good(catalogue->block_progress(std::nullopt)),
        (std::vector<BlockProgress>{{run, "physics", "Main", LumiBlock{7}, Progress::complete, 1, 3, 4'000'000'000}}));
    ASSERT_TRUE(catalogue->open_run(start(2, "recorder-3")).has_value());  // joins: what was complete stays complete
    EXPECT_EQ(progress(), Progress::complete);

    const auto late = file_of(2, 1, "recorder-2");  // opens it again, until it is closed once more
    ASSERT_TRUE(catalogue->file_opened(late).has_value());
    EXPECT_EQ(progress(), Progress::opened);
    ASSERT_TRUE(catalogue->file_closed(close_of(late)).has_value());
    closed("recorder-2", 8, true);
    EXPECT_EQ(progress(), Progress::complete);
    ASSERT_TRUE(catalogue->file_transferred(file.guid).has_value());
    EXPECT_EQ(progress(), Progress::complete);
    ASSERT_TRUE(catalogue->file_transferred(late.guid).has_value());
    EXPECT_EQ(progress(), Progress::transferred);
}

TEST_F(CatalogueRuns, WhatAReaderNotedStaysWhenRowsAreWrittenAnew) {
    auto catalogue = open();
    ASSERT_TRUE(catalogue->open_run(start(2)).has_value());
    const auto file = file_of(2);
    ASSERT_TRUE(catalogue->file_opened(file).has_value());
    ASSERT_TRUE(catalogue->file_closed(close_of(file)).has_value());
    const std::vector<ReaderState> states{{RunNumber{2}, "recorder-1", "", "", {}, {}, "SEEN"},
                                          {RunNumber{2}, "recorder-1", "physics", "Main", LumiBlock{7}, {}, "RUNNING"},
                                          {RunNumber{2}, "recorder-1", "physics", "Main", {}, file.guid, "DONE"}};
    for (const auto& state : states) ASSERT_TRUE(catalogue->set_reader_state(state).has_value());
    ASSERT_TRUE(catalogue->put_run(catalogue->runs().value().at(0)).has_value());
    ASSERT_TRUE(catalogue->put_file(catalogue->file(file.guid).value().value()).has_value());
    ASSERT_TRUE(catalogue->file_opened(file_of(2, 2)).has_value());
    EXPECT_EQ(catalogue->reader_states().value(), states);
}

TEST_F(CatalogueRuns, ParametersAreReplacedByNameAndReadBack) {
    auto catalogue = open();
    const std::string odd = "it's \"quoted\"\nand; DROP TABLE runs; -- ünïcode";
    ASSERT_TRUE(catalogue->set_run_parameter(RunNumber{4}, "beam", "off").has_value());
    ASSERT_TRUE(catalogue->set_run_parameter(RunNumber{4}, "beam", "on").has_value());
    ASSERT_TRUE(catalogue->set_run_parameter(RunNumber{4}, odd, odd).has_value());
    ASSERT_TRUE(catalogue->set_run_parameter(RunNumber{4}, "empty", "").has_value());
    ASSERT_TRUE(catalogue->set_run_parameter(RunNumber{5}, "beam", "dump").has_value());
    EXPECT_EQ(catalogue->run_parameters(RunNumber{4}).value(),
              (std::map<std::string, std::string>{{"beam", "on"}, {odd, odd}, {"empty", ""}}));
    EXPECT_FALSE(catalogue->set_run_parameter(RunNumber{4}, "", "x").has_value());
    EXPECT_FALSE(catalogue->set_run_parameter(RunNumber{4}, std::string("a\0b", 3), "x").has_value());
    EXPECT_FALSE(catalogue->set_run_parameter(RunNumber{4}, std::string(256, 'a'), "x").has_value());
}

TEST_F(CatalogueRuns, PuttingARowTwiceChangesNothingMore) {
    auto catalogue = open();
    const RunRow row{RunNumber{6}, "recorder-9", OpenState::closed, "receipt", "", time_of(1), time_of(2)};
    ASSERT_TRUE(catalogue->put_run(row).has_value());
    ASSERT_TRUE(catalogue->put_run(row).has_value());
    EXPECT_EQ(catalogue->runs().value(), std::vector<RunRow>{row});
    EXPECT_FALSE(catalogue->open_run(start(6)).has_value());
}

}  // namespace
}  // namespace weir::catalogue
