// SPDX-License-Identifier: Apache-2.0
#include "weir/wire/recorder_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace weir::wire {
namespace {

std::string chosen(std::uint64_t id, const std::vector<std::string>& recorders) {
    return *std::ranges::max_element(recorders, {},
                                     [&](const std::string& name) { return preference(GlobalEventId{id}, name); });
}

TEST(RecorderChoice, IsTheSameOnEveryMachineAndInEveryVersion) {
    EXPECT_EQ(preference(GlobalEventId{0}, "rec-1"), 0x8184d977fd7bfae8U);
    EXPECT_EQ(preference(GlobalEventId{1'000'000}, "rec-2"), 0xe2bbaee04e896755U);
    EXPECT_EQ(preference(GlobalEventId{1'000'000}, "rec-2"),
              preference(GlobalEventId{1'000'031}, "rec-2"));  // 31250 * 32
    EXPECT_NE(preference(GlobalEventId{1'000'000}, "rec-2"), preference(GlobalEventId{1'000'032}, "rec-2"));
}

TEST(RecorderChoice, SpreadsTheEventsEvenly) {
    for (const std::vector<std::string>& recorders :
         {std::vector<std::string>{"rec-1", "rec-2"}, {"rec-1", "rec-2", "rec-3"}, {"a", "b", "c", "d"}}) {
        std::map<std::string, double> share;
        constexpr std::uint64_t runs = 20'000;
        for (std::uint64_t run = 0; run < runs; ++run) share[chosen(run * recorder_run_ids, recorders)] += 1.0 / runs;
        for (const auto& name : recorders) EXPECT_NEAR(share[name], 1.0 / double(recorders.size()), 0.02) << name;
    }
}

TEST(RecorderChoice, ARecorderThatLeavesMovesItsOwnEventsOnly) {
    const std::vector<std::string> three{"rec-1", "rec-2", "rec-3"}, two{"rec-1", "rec-3"};
    for (std::uint64_t id = 0; id < 100'000; id += recorder_run_ids) {
        const auto before = chosen(id, three);
        if (before != "rec-2") {
            EXPECT_EQ(chosen(id, two), before) << id;
        }
    }
}

}  // namespace
}  // namespace weir::wire
