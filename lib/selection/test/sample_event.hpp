// SPDX-License-Identifier: Apache-2.0
// An event of three fragments, one of them missing, for tests of selections.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "weir/selection/selection.hpp"

namespace weir::selection::test {

struct SampleEvent {
    std::array<std::uint32_t, 4> first{1, 2, 3, 4};
    std::array<std::uint32_t, 2> second{10, 20};
    std::array<std::uint32_t, 2> words{0xabcd, 0xef};
    std::array<Fragment, 3> fragments{Fragment{SourceId{7}, FragmentState::here, std::as_bytes(std::span(first))},
                                      Fragment{SourceId{9}, FragmentState::here, std::as_bytes(std::span(second))},
                                      Fragment{SourceId{11}, FragmentState::missing, {}}};

    SampleEvent() = default;
    SampleEvent(const SampleEvent&) = delete;

    [[nodiscard]] Event event(std::uint64_t id) const {
        return {.run = RunNumber{77},
                .global_id = GlobalEventId{id},
                .level1_id = Level1Id{static_cast<std::uint32_t>(id)},
                .lumi_block = LumiBlock{3},
                .bunch_crossing_id = 5,
                .trigger_type = 6,
                .seconds = 8,
                .nanoseconds = 9,
                .level1_words = words,
                .level2_words = {},
                .fragments = fragments,
                .payload = {}};
    }
};

}  // namespace weir::selection::test
