// SPDX-License-Identifier: Apache-2.0
#include "weir/control/operator_lease.hpp"

#include <gmock/gmock.h>

#include <vector>

namespace weir::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class OperatorLeaseTest : public testing::Test {
protected:
    ManualClock clock;
    std::vector<std::string> said;
    OperatorLease lease{clock, Reporter([this](const Report& report) { said.push_back(report.what); })};
};

TEST_F(OperatorLeaseTest, OnePersonHasItAndAnotherOneIsRefusedByName) {
    EXPECT_FALSE(lease.holder());
    const auto ann = lease.take("ann", false);
    ASSERT_TRUE(ann);
    EXPECT_EQ(lease.holder()->person, "ann");
    const auto bob = lease.take("bob", false);
    ASSERT_FALSE(bob);
    EXPECT_EQ(bob.error().code, Errc::refused);
    EXPECT_THAT(bob.error().message(), HasSubstr("ann has been in control since 2023-11-14 22:13:20 UTC"));
    EXPECT_THAT(said, ElementsAre("ann is in control"));
}

TEST_F(OperatorLeaseTest, ByForceItIsTakenAndBothNamesAreReported) {
    const auto ann = lease.take("ann", false);
    const auto bob = lease.take("bob", true);
    ASSERT_TRUE(ann && bob);
    EXPECT_NE(*ann, *bob);
    EXPECT_FALSE(lease.allows(*ann, true));
    EXPECT_TRUE(lease.allows(*bob, true));
    EXPECT_FALSE(lease.release(*ann));
    EXPECT_TRUE(lease.release(*bob));
    EXPECT_THAT(said, ElementsAre("ann is in control", "bob took control by force from ann", "bob released control"));
}

TEST_F(OperatorLeaseTest, WithoutAHolderACommandLineIsObeyedAndAPageIsNot) {
    EXPECT_TRUE(lease.allows("", false));
    EXPECT_FALSE(lease.allows("", true));
    EXPECT_FALSE(lease.allows("guessed", true));
}

TEST_F(OperatorLeaseTest, WithAHolderOnlyItsSecretCounts) {
    const auto ann = lease.take("ann", false);
    ASSERT_TRUE(ann);
    EXPECT_EQ(ann->size(), 32U);
    EXPECT_TRUE(lease.allows(*ann, true));
    EXPECT_TRUE(lease.allows(*ann, false));
    for (const auto& wrong : {std::string(), ann->substr(1), *ann + "0", std::string(32, '0')}) {
        EXPECT_FALSE(lease.allows(wrong, true));
        EXPECT_THAT(lease.allows(wrong, false).error().message(), HasSubstr("ann has been in control"));
    }
}

TEST_F(OperatorLeaseTest, NobodyTakesItWithoutAName) {
    EXPECT_EQ(lease.take("", false).error().code, Errc::usage);
    EXPECT_EQ(lease.take(std::string(101, 'a'), true).error().code, Errc::usage);
}

TEST_F(OperatorLeaseTest, ANameCannotForgeALineOfTheLog) {
    ASSERT_TRUE(lease.take("ann\nerror run: all is lost", true));
    EXPECT_THAT(said, ElementsAre("ann\\nerror run: all is lost is in control"));
}

}  // namespace
}  // namespace weir::control
