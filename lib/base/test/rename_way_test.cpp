// SPDX-License-Identifier: Apache-2.0
#include "weir/base/rename_way.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "weir/base/file.hpp"

namespace weir {
namespace {

class RenameWays : public ::testing::TestWithParam<RenameWay> {
protected:
    RenameWays() { std::ofstream(a_) << "a"; }
    ~RenameWays() override { std::filesystem::remove_all(directory_); }
    static std::filesystem::path new_directory() {
        std::string pattern = (std::filesystem::temp_directory_path() / "weir-rename-XXXXXX").string();
        return ::mkdtemp(pattern.data());
    }
    std::filesystem::path directory_ = new_directory();
    std::filesystem::path a_ = directory_ / "a", b_ = directory_ / "b";
};

TEST_P(RenameWays, GivesTheNewNameAndTakesTheOld) {
    ASSERT_EQ(rename_by(GetParam(), a_.c_str(), b_.c_str()), 0);
    EXPECT_FALSE(std::filesystem::exists(a_));
    EXPECT_EQ(read_text(b_, 10_B).value(), "a");
}

TEST_P(RenameWays, NeverOverwrites) {
    std::ofstream(b_) << "b";
    ASSERT_NE(rename_by(GetParam(), a_.c_str(), b_.c_str()), 0);
    EXPECT_EQ(errno, EEXIST);
    EXPECT_EQ(read_text(a_, 10_B).value(), "a");
    EXPECT_EQ(read_text(b_, 10_B).value(), "b");
}

TEST_P(RenameWays, SaysThatTheFileIsNotThere) {
    ASSERT_NE(rename_by(GetParam(), (directory_ / "c").c_str(), b_.c_str()), 0);
    EXPECT_EQ(errno, ENOENT);
}

INSTANTIATE_TEST_SUITE_P(All, RenameWays, ::testing::ValuesIn(rename_ways));

TEST_P(RenameWays, TheWayOfADirectoryIsFoundAndNothingIsLeftThere) {
    const auto way = find_rename_way(directory_);
    ASSERT_TRUE(way.has_value()) << way.error().message();
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory_)) ++files;
    EXPECT_EQ(files, 1U);
}

}  // namespace
}  // namespace weir
