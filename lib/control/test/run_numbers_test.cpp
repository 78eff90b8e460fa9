// SPDX-License-Identifier: Apache-2.0
#include "weir/control/run_numbers.hpp"

#include <gmock/gmock.h>

#include <fstream>

namespace weir::control {
namespace {

using testing::HasSubstr;

class RunNumbersTest : public testing::Test {
protected:
    RunNumbersTest() {
        std::string pattern = testing::TempDir() + "run-numbers-XXXXXX";
        directory = ::mkdtemp(pattern.data());
    }
    ~RunNumbersTest() override { std::filesystem::remove_all(directory); }

    std::filesystem::path directory;
};

TEST_F(RunNumbersTest, NoNumberIsGivenTwiceAlsoByALaterProcess) {
    {
        auto numbers = RunNumbers::open(directory);
        ASSERT_TRUE(numbers);
        EXPECT_EQ(numbers->take(RunNumber{1}), RunNumber{1});
        EXPECT_EQ(numbers->take(RunNumber{1}), RunNumber{2});
    }
    auto numbers = RunNumbers::open(directory);
    ASSERT_TRUE(numbers);
    EXPECT_EQ(numbers->take(RunNumber{1}), RunNumber{3});
}

TEST_F(RunNumbersTest, WithoutItsFileTheCataloguesDecide) {
    EXPECT_EQ(RunNumbers::open(directory)->take(RunNumber{50}), RunNumber{50});
    std::filesystem::remove(directory / "run-number");
    EXPECT_EQ(RunNumbers::open(directory)->take(RunNumber{51}), RunNumber{51});
}

TEST_F(RunNumbersTest, ADirectoryBelongsToOneRunControl) {
    const auto first = RunNumbers::open(directory);
    ASSERT_TRUE(first);
    EXPECT_THAT(RunNumbers::open(directory).error().context, HasSubstr("another weir run works in"));
}

TEST_F(RunNumbersTest, AFileThatHoldsNoNumberIsNamedAndLeftAlone) {
    std::ofstream(directory / "run-number") << "12x\n";
    EXPECT_THAT(RunNumbers::open(directory).error().context, HasSubstr("run-number holds no run number"));
    EXPECT_TRUE(std::filesystem::exists(directory / "run-number"));
}

}  // namespace
}  // namespace weir::control
