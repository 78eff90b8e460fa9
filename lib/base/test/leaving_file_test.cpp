// SPDX-License-Identifier: Apache-2.0
#include "weir/base/leaving_file.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

namespace weir {
namespace {

class LeavingFile : public ::testing::Test {
protected:
    LeavingFile() {
        std::string pattern = (std::filesystem::temp_directory_path() / "weir-leaving-XXXXXX").string();
        directory_ = ::mkdtemp(pattern.data());
    }
    ~LeavingFile() override { std::filesystem::remove_all(directory_); }
    std::filesystem::path directory_;
};

TEST_F(LeavingFile, IsGivenItsNameBack) {
    std::ofstream(leaving_name(directory_ / "a.data")) << "content";
    std::ofstream(directory_ / "b.data");
    EXPECT_EQ(restore_leaving_files(directory_).value(), 1U);
    EXPECT_EQ(std::filesystem::file_size(directory_ / "a.data"), 7U);
    EXPECT_EQ(restore_leaving_files(directory_).value(), 0U);
}

TEST_F(LeavingFile, NeverTakesANameThatIsTakenAndHoldsUpNoOther) {
    for (const char* name : {"a.data", "b.data", "c.data"}) std::ofstream(leaving_name(directory_ / name)) << "content";
    std::ofstream(directory_ / "b.data") << "other";
    EXPECT_FALSE(restore_leaving_files(directory_).has_value());
    EXPECT_TRUE(std::filesystem::exists(directory_ / "a.data"));
    EXPECT_TRUE(std::filesystem::exists(directory_ / "c.data"));
    EXPECT_EQ(std::filesystem::file_size(directory_ / "b.data"), 5U);
    EXPECT_FALSE(restore_leaving_files(directory_ / "none").has_value());
}

}  // namespace
}  // namespace weir
