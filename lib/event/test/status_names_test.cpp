// SPDX-License-Identifier: Apache-2.0
#include "weir/event/status_names.hpp"

#include <gmock/gmock.h>

#include "weir/event/markers.hpp"

namespace weir::event {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(StatusNames, TheLowHalfMeansTheSameAtEveryLevel) {
    for (const auto level : {Level::event, Level::subdetector, Level::ros, Level::rob, Level::rod}) {
        const auto found = status_names(level, status::timeout | status::data_corruption);
        EXPECT_THAT(found.names, ElementsAre("timeout", "data corruption"));
        EXPECT_EQ(found.unnamed, 0U);
    }
    EXPECT_THAT(status_names(Level::event, 0).names, IsEmpty());
}

TEST(StatusNames, TheHighHalfIsThatOfItsLevelAndOfAFragmentThatWasMade) {
    EXPECT_THAT(status_names(Level::rob, status::rob_lost | 0x2'0000).names, ElementsAre("size", "lost"));
    EXPECT_THAT(status_names(Level::rob, status::dummy_fragment | status::rob_lost | 0x2'0000).names,
                ElementsAre("dummy fragment", "collection timeout", "lost"));
    EXPECT_THAT(status_names(Level::event, status::event_partial | status::event_forced_accept).names,
                ElementsAre("forced accept", "partial event"));
}

TEST(StatusNames, ABitWithoutANameIsGivenAsItIs) {
    EXPECT_EQ(status_names(Level::rob, 0x8000U).unnamed, 0x8000U);
    EXPECT_EQ(status_names(Level::ros, status::rob_lost).unnamed, status::rob_lost);
    EXPECT_EQ(status_names(Level::event, 0xffff'ffff).unnamed, 0x40e0'ffc0U);
}

}  // namespace
}  // namespace weir::event
