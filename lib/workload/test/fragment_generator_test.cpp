// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "weir/event/fragment.hpp"
#include "weir/workload/fragment_maker.hpp"

namespace weir::workload {
namespace {

std::unique_ptr<FragmentMaker> generator(event::Format format = event::Format::event_5_0) {
    return make_fragment_generator(
               {.format = format, .first_source = SourceId{0x10}, .robs = 3, .rob_size = Bytes{256}})
        .value();
}

Level1Id level1_of(ConstData rob, event::Format format) {
    const auto view = event::FragmentView::parse(rob, event::Level::rob, format).value();
    return event::RodView::parse(view.payload(), view.payload_offset()).value().level1_id();
}

TEST(FragmentGenerator, ItsRobsAreValidFragmentsOfTheirEventAndOfTheSizeAskedFor) {
    for (const auto format : {event::Format::event_5_0, event::Format::event_3_0}) {
        const auto maker = generator(format);
        for (const auto id : {Level1Id{1}, Level1Id{2}, Level1Id{0xffff'ffff}, Level1Id{0}}) {
            const auto robs = maker->make(id);
            ASSERT_EQ(robs.size(), 3U);
            for (const auto& rob : robs) {
                EXPECT_EQ(rob.bytes.size(), 256U);
                EXPECT_EQ(level1_of(rob.bytes, format), id);
                EXPECT_EQ(event::FragmentView::parse(rob.bytes, event::Level::rob, format).value().source(),
                          rob.source);
            }
        }
    }
}

TEST(FragmentGenerator, ItsRobsCarryTheRun) {
    const auto maker = generator();
    maker->set_run(RunNumber{77});
    const auto view =
        event::FragmentView::parse(maker->make(Level1Id{1})[0].bytes, event::Level::rob, event::Format::event_5_0)
            .value();
    EXPECT_EQ(event::RodView::parse(view.payload(), view.payload_offset()).value().run(), RunNumber{77});
}

TEST(FragmentGenerator, WhatCannotBeIsAUsageError) {
    EXPECT_EQ(make_fragment_generator({.robs = 0}).error().code, Errc::usage);
    EXPECT_EQ(make_fragment_generator({.robs = 100'000}).error().code, Errc::usage);
    EXPECT_EQ(make_fragment_generator({.rob_size = Bytes{1ULL << 30}}).error().code, Errc::usage);
    EXPECT_EQ(make_fragment_generator({.format = event::Format::opaque}).error().code, Errc::usage);
}

}  // namespace
}  // namespace weir::workload
