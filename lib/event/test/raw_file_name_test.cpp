// SPDX-License-Identifier: Apache-2.0
#include "weir/event/raw_file_name.hpp"

#include <gtest/gtest.h>

namespace weir::event {
namespace {

RawFileName sample() {
    return {.project = "data18_13TeV",
            .run = RunNumber{357750},
            .stream_type = "physics",
            .stream_name = "Main",
            .step = "daq",
            .lumi_block = LumiBlock{83},
            .application = "SFO-1",
            .sequence = 1};
}

TEST(RawFileName, ItIsComposedAsAtlasDoes) {
    EXPECT_EQ(sample().core(), "data18_13TeV.00357750.physics_Main.daq.RAW._lb0083._SFO-1");
    EXPECT_EQ(sample().file(FileState::data), "data18_13TeV.00357750.physics_Main.daq.RAW._lb0083._SFO-1._0001.data");
    EXPECT_EQ(sample().file(FileState::writing),
              "data18_13TeV.00357750.physics_Main.daq.RAW._lb0083._SFO-1._0001.writing");
    EXPECT_TRUE(sample().check().has_value());
}

TEST(RawFileName, RealNamesAreRead) {
    EXPECT_EQ(parse_raw_file_name("data18_13TeV.00357750.physics_Main.daq.RAW._lb0083._SFO-1._0001.data").value().name,
              sample());
    const auto merged =
        parse_raw_file_name("data17_13TeV.00327265.physics_EnhancedBias.merge.RAW._lb0100._SFO-1._0001.1").value();
    EXPECT_EQ(merged.name.step, "merge");
    EXPECT_EQ(merged.rest, ".1");
    const auto tile =
        parse_raw_file_name("data18_tilecomm.00363899.calibration_tile.daq.RAW._lb0000._TileREB-ROS._0005-200ev.data")
            .value();
    EXPECT_EQ(tile.name.application, "TileREB-ROS");
    EXPECT_EQ(tile.name.sequence, 5U);
    EXPECT_EQ(tile.name.lumi_block, LumiBlock{0});
    EXPECT_EQ(tile.rest, "-200ev.data");
    const auto run1 = parse_raw_file_name("data09_cos.0123456.physics_L1Calo.daq.RAW._lb0001._SFO-2._02.data")
                          .value();  // 7 and 2 digits
    EXPECT_EQ(run1.name.run, RunNumber{123456});
    EXPECT_EQ(run1.name.sequence, 2U);
}

TEST(RawFileName, WhatIsComposedIsReadBack) {
    auto name = sample();
    name.run = RunNumber{4'000'000'000};
    name.lumi_block = LumiBlock{65535};
    name.sequence = 12345;
    name.stream_name = "LAr_Noise";
    EXPECT_EQ(parse_raw_file_name(name.file(FileState::writing)).value().name, name);
    EXPECT_EQ(parse_raw_file_name(name.file(FileState::writing)).value().rest, ".writing");
    EXPECT_EQ(parse_raw_file_name(name.core()).value().name.sequence, 0U);
    EXPECT_EQ(parse_raw_file_name(name.core()).value().name.core(), name.core());
}

TEST(RawFileName, APartThatCouldLeaveTheFolderOrBreakTheNameIsRefused) {
    for (const char* bad : {"", "a.b", "../x", "a/b", "a b"}) {
        auto name = sample();
        name.project = bad;
        EXPECT_EQ(name.check().error().code, Errc::usage) << bad;
        name = sample();
        name.application = bad;
        EXPECT_EQ(name.check().error().code, Errc::usage) << bad;
        name = sample();
        name.stream_name = bad;
        EXPECT_EQ(name.check().error().code, Errc::usage) << bad;
        name = sample();
        name.stream_type = bad;
        EXPECT_EQ(name.check().error().code, Errc::usage) << bad;
        name = sample();
        name.step = bad;
        EXPECT_EQ(name.check().error().code, Errc::usage) << bad;
    }
    auto name = sample();
    name.project.assign(64, 'p');
    name.stream_name.assign(64, 's');
    name.application.assign(64, 'a');
    name.step.assign(64, 't');
    EXPECT_EQ(name.check().error().code, Errc::usage);
}

TEST(RawFileName, AWrongNameIsReportedWithItsWrongPart) {
    const std::pair<const char*, const char*> cases[] = {
        {"notes.txt", "seven"},
        {"data18.00357750.physics_Main.daq.ESD._lb0083._SFO-1._0001.data", "fifth"},
        {"data18.0035775x.physics_Main.daq.RAW._lb0083._SFO-1._0001.data", "second"},
        {"data18.99999999999.physics_Main.daq.RAW._lb0083._SFO-1._0001.data", "second"},
        {"data18.00357750.physics.daq.RAW._lb0083._SFO-1._0001.data", "third"},
        {"data18.00357750.physics_Main..RAW._lb0083._SFO-1._0001.data", "fourth"},
        {"data18.00357750.physics_Main.daq.RAW.lb0083._SFO-1._0001.data", "sixth"},
        {"data18.00357750.physics_Main.daq.RAW._lb._SFO-1._0001.data", "sixth"},
        {"data18.00357750.physics_Main.daq.RAW._lb0083.SFO-1._0001.data", "seventh"},
        {"data18.00357750.physics_Main.daq.RAW._lb0083._SFO-1.0001.data", "eighth"},
        {"data18.00357750.physics_Main.daq.RAW._lb0083._SFO-1._x.data", "eighth"},
        {".00357750.physics_Main.daq.RAW._lb0083._SFO-1._0001.data", "project"}};
    for (const auto& [text, part] : cases) {
        const auto error = parse_raw_file_name(text).error();
        EXPECT_EQ(error.code, Errc::corrupt);
        EXPECT_NE(error.context.find(part), std::string::npos) << error.context;
    }
}

}  // namespace
}  // namespace weir::event
