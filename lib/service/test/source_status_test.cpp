// SPDX-License-Identifier: Apache-2.0
#include "weir/service/source_status.hpp"

#include <gtest/gtest.h>

namespace weir::service {
namespace {

TEST(SourceStatus, OfTwoStationsIsTheSumBySourceInTheOrderOfTheIds) {
    const WallTime early{std::chrono::seconds{1}}, later{std::chrono::seconds{2}};
    SourceTable table;
    table.add({{.source = SourceId{7}, .arrived = 1},
               {.source = SourceId{3},
                .outside = true,
                .arrived = 5,
                .bytes = 50,
                .late = 1,
                .lost = 2,
                .duplicated = 3,
                .disordered = 5,
                .jumps = 6,
                .refused = 4,
                .last_seen = later}});
    table.add({{.source = SourceId{3}, .arrived = 1, .last_seen = early, .expected = 10, .missing = 4, .masked = 2}});
    const std::vector<SourceStatus> sums{{.source = SourceId{3},
                                          .outside = true,
                                          .arrived = 6,
                                          .bytes = 50,
                                          .late = 1,
                                          .lost = 2,
                                          .duplicated = 3,
                                          .disordered = 5,
                                          .jumps = 6,
                                          .refused = 4,
                                          .last_seen = later,
                                          .expected = 10,
                                          .missing = 4,
                                          .masked = 2},
                                         {.source = SourceId{7}, .arrived = 1}};
    EXPECT_EQ(table.list(), sums);
}

}  // namespace
}  // namespace weir::service
