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
    const OpenRun run(directory / "run-open.json");
    EXPECT_FALSE(*run.left());
    ASSERT_TRUE(run.note(RunNumber{7}, {}));
    ASSERT_TRUE(run.note(RunNumber{7}, {{"accepted", "12"}}));
    const auto left = OpenRun(directory / "run-open.json").left();
    ASSERT_TRUE(left && *left);
    EXPECT_EQ((*left)->run, RunNumber{7});
    EXPECT_EQ((*left)->parameters.at("accepted"), "12");
    run.over();
    EXPECT_FALSE(*run.left());
}

TEST_F(OpenRunTest, AFileThatIsNoneOfOursIsAnError) {
    std::ofstream(directory / "run-open.json") << "{\"run\":";
    EXPECT_FALSE(OpenRun(directory / "run-open.json").left());
}

}  // namespace
}  // namespace weir::control
