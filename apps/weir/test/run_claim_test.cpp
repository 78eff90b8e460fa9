// SPDX-License-Identifier: Apache-2.0
#include "run/directory/run_claim.hpp"

#include <gtest/gtest.h>

namespace weir::app {
namespace {

constexpr const char* hosts = "[partition]\nname = \"cosmics\"\n[hosts.h1]\naddress = \"10.77.0.1:7400\"\n";
constexpr const char* shared =
    "[record.rec-1]\ncatalogue = \"postgresql://weir@db/x\"\n"
    "[record.rec-2]\ncatalogue = \"postgresql://weir@db/x\"\n";

std::optional<LeasePlace> place(const std::string& text) {
    auto found = lease_place(text, "p.toml");
    EXPECT_TRUE(found) << found.error().message();
    return *found;
}

TEST(LeasePlace, IsTheDatabaseThatAllRecordersShare) {
    const auto found = place(std::string(hosts) + shared);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->uri, "postgresql://weir@db/x");
    EXPECT_EQ(found->partition, "cosmics");
}

TEST(LeasePlace, ThereIsNoneWhereOneRecorderHasAnotherCatalogue) {
    for (const char* other : {"[record.rec-3]\n", "[record.rec-3]\ncatalogue = \"postgresql://weir@db/y\"\n",
                              "[record.rec-3]\ncatalogue = \"/data/x.sqlite\"\n"}) {
        EXPECT_FALSE(place(std::string(hosts) + shared + other)) << other;
        EXPECT_FALSE(place(std::string(hosts) + other + shared)) << other;
    }
}

TEST(LeasePlace, IsTheOneThatIsNamedWhateverTheRecordersHave) {
    const auto named = place(std::string(hosts) + shared + "[run]\nlease = \"postgresql://ctl@db/y\"\n");
    ASSERT_TRUE(named);
    EXPECT_EQ(named->uri, "postgresql://ctl@db/y");
    EXPECT_FALSE(place(std::string(hosts) + shared + "[run]\nlease = \"none\"\n"));
    EXPECT_TRUE(place(std::string(hosts) + shared + "[run]\nlease = \"\"\n"));
}

TEST(LeasePlace, ThereIsNoneOnOneMachineWhereStationsEndWithRunControl) {
    EXPECT_FALSE(place(shared));
    EXPECT_FALSE(place(std::string(shared) + "[run]\nlease = \"postgresql://ctl@db/y\"\n"));
}

}  // namespace
}  // namespace weir::app
