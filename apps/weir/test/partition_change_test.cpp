// SPDX-License-Identifier: Apache-2.0
#include "run/partition/partition_change.hpp"

#include <gmock/gmock.h>

namespace weir::app {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view whole =
    "[data]\nformat = \"event-5.0\"\n[run]\npoll = \"1s\"\n[readout.ros-1]\nrobs = 2\n[build.sfi-1]\n[record.rec-1]\n"
    "directories = [\"/data/1\"]\n";

/// The whole with one text in it replaced.
PartitionChange changed(std::string_view from, std::string_view to) {
    std::string text(whole);
    text.replace(text.find(from), from.size(), to);
    return change_of_partition(whole, text).value_or(PartitionChange{});
}

TEST(PartitionChange, OfRunControlsOwnKeysCountsAtOnceAndOneOfAStationStartsItAnew) {
    const auto change = changed("\"1s\"\n", "\"2s\"\nmask_after = \"30s\"\n");
    EXPECT_THAT(change.at_once, ElementsAre("[run] mask_after", "[run] poll"));
    EXPECT_THAT(change.anew, IsEmpty());
    EXPECT_THAT(changed("robs = 2", "robs = 3\nrob_size = \"1kB\"").anew, ElementsAre("ros-1"));
    EXPECT_THAT(changed("robs = 2\n", "").anew, ElementsAre("ros-1")) << "the default is another value";
    EXPECT_THAT(changed("[build.sfi-1]\n", "[build.sfi-1]\nevents_max = 7\n").anew, ElementsAre("sfi-1"));
    EXPECT_THAT(changed("robs = 2", "robs = 3").impossible, IsEmpty());
}

TEST(PartitionChange, OfCommentsAndLayoutIsNone) {
    const auto change = changed("robs = 2", "# two\nrobs=2  ");
    EXPECT_THAT(change.at_once, IsEmpty());
    EXPECT_THAT(change.anew, IsEmpty());
    EXPECT_THAT(change.impossible, IsEmpty());
}

TEST(PartitionChange, ThatConcernsAllStationsOrTheirListIsImpossible) {
    EXPECT_THAT(changed("\"1s\"\n", "\"1s\"\nlease = \"none\"\n").impossible,
                ElementsAre("[run] lease is read when run control starts"));
    EXPECT_THAT(changed("event-5.0", "event-3.0").impossible, ElementsAre("[data] format is of all stations"));
    EXPECT_THAT(changed("/data/1", "/data/2").impossible,
                ElementsAre("[record.rec-1] directories is read by run control when it starts"));
    const auto* others = "it has other stations, or has them in another order";
    EXPECT_THAT(changed("[build.sfi-1]\n", "[build.sfi-1]\n[build.sfi-2]\nevents_max = 7\n").impossible,
                ElementsAre(others));
    EXPECT_THAT(changed("[build.sfi-1]\n", "").impossible, ElementsAre(others));
    EXPECT_THAT(changed("[build.sfi-1]", "[build.sfi-9]").impossible, ElementsAre(others));
    EXPECT_THAT(
        changed("[readout.ros-1]\nrobs = 2\n[build.sfi-1]\n", "[build.sfi-1]\n[readout.ros-1]\nrobs = 2\n").impossible,
        ElementsAre(others));
}

}  // namespace
}  // namespace weir::app
