// SPDX-License-Identifier: Apache-2.0
#include "weir/control/open_run.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace weir::control {
namespace {

class OpenRunTest : public testing::Test {
protected:
    OpenRunTest() {
        std::string pattern = testing::TempDir() + "open-run-XXXXXX";
        directory = ::mkdtemp(pattern.data());
    }
    ~OpenRunTest() override { std::filesystem::remove_all(directory); }

    std::filesystem::path directory;
};

TEST_F(OpenRunTest, WhatWasNotedLastIsFoundUntilTheRunIsOver) {
    OpenRun run(directory);
    EXPECT_FALSE(*run.left());
    ASSERT_TRUE(run.note(RunNumber{7}, std::map<std::string, std::string>{}));
    ASSERT_TRUE(run.note(RunNumber{7}, {{"accepted", "12"}}));
    const auto left = OpenRun(directory).left();
    ASSERT_TRUE(left && *left);
    EXPECT_EQ((*left)->run, RunNumber{7});
    EXPECT_EQ((*left)->counts.at("accepted"), "12");
    run.over();
    EXPECT_FALSE(*run.left());
    EXPECT_TRUE(std::filesystem::is_empty(directory));
}

TEST_F(OpenRunTest, PeersAreThoseOfTheRun) {
    OpenRun run(directory);
    const std::vector<Peer> peers{{.name = "ros-1", .dataflow = "10.77.0.11:4000", .sources = {SourceId{0x420000}}}};
    ASSERT_TRUE(run.note(RunNumber{7}, peers));
    ASSERT_TRUE(run.note(RunNumber{7}, std::map<std::string, std::string>{}));
    EXPECT_EQ((*run.left())->peers, peers);
    ASSERT_TRUE(run.note(RunNumber{8}, std::map<std::string, std::string>{}));
    EXPECT_TRUE((*run.left())->peers.empty());
}

TEST_F(OpenRunTest, ARunIsKnownThoughAPowerCutTookItsCounts) {
    OpenRun run(directory);
    ASSERT_TRUE(run.note(RunNumber{7}, {{"accepted", "12"}}));
    std::ofstream(directory / "run-counts.json", std::ios::trunc).close();
    const auto left = run.left();
    ASSERT_TRUE(left && *left);
    EXPECT_EQ((*left)->run, RunNumber{7});
    EXPECT_TRUE((*left)->counts.empty());
}

TEST_F(OpenRunTest, AFileThatIsNoneOfOursIsAnError) {
    std::ofstream(directory / "run-open.json") << "{\"run\":";
    EXPECT_FALSE(OpenRun(directory).left());
}

}  // namespace
}  // namespace weir::control
