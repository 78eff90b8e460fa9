// SPDX-License-Identifier: Apache-2.0
#include "weir/workload/event_generator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "weir/event/check.hpp"
#include "weir/event/partial.hpp"

namespace weir::workload {
namespace {

constexpr std::uint64_t seed = 20181018;
constexpr event::EventIds ids{.run = RunNumber{357750},
                              .global_id = GlobalEventId{1},
                              .level1_id = Level1Id{1},
                              .lumi_block = LumiBlock{1},
                              .time = {.seconds = 1}};

TEST(Workload, TheFractionsOfThePaperComeOut) {
    Sampler sampler(Profile::atlas2018(), seed);
    constexpr int events = 200'000;
    double large_events = 0, bytes = 0, large_bytes = 0, express = 0;
    std::map<std::size_t, double> stream_bytes, stream_events;
    for (int i = 0; i < events; ++i) {
        const auto plan = sampler.next();
        const auto size = static_cast<double>(plan.stored_size.count());
        bytes += size;
        stream_bytes[plan.stream] += size;
        stream_events[plan.stream] += 1;
        express += plan.express ? 1 : 0;
        if (size > 32'000) {
            large_events += 1;
            large_bytes += size;
        }
    }
    EXPECT_NEAR(large_events / events, 0.82, 0.005);
    EXPECT_NEAR(large_bytes / bytes, 0.996, 0.001);
    EXPECT_GT(stream_bytes[0] / bytes, 0.66);
    EXPECT_NEAR(express / stream_events[0], 0.02, 0.002);
    const auto& streams = sampler.profile().streams;
    double total_rate = 0;
    for (const auto& stream : streams) total_rate += stream.rate_hz;
    for (std::size_t i = 0; i + 1 < streams.size(); ++i) {  // the last is too rare for its mean
        EXPECT_NEAR(stream_events[i] / events, streams[i].rate_hz / total_rate, 0.005) << streams[i].name;
        EXPECT_NEAR(stream_bytes[i] / stream_events[i] / static_cast<double>(streams[i].size_mean.count()), 1.0, 0.01)
            << streams[i].name;
    }
}

TEST(Workload, SizesStayInTheirLimitsAndLumiBlocksFollowTheRates) {
    auto profile = Profile::atlas2018();
    profile.lumi_block_length = std::chrono::seconds{1};
    Sampler sampler(profile, seed);
    std::map<std::uint32_t, int> per_block;
    for (int i = 0; i < 10'000; ++i) {
        const auto plan = sampler.next();
        const auto& stream = profile.streams[plan.stream];
        EXPECT_GE(plan.stored_size, stream.size_min);
        EXPECT_LE(plan.stored_size, stream.size_max);
        ++per_block[number(plan.lumi_block)];
    }
    EXPECT_EQ(per_block.begin()->first, 1U);
    EXPECT_EQ(per_block.rbegin()->first, 5U);
    EXPECT_NEAR(per_block[2], 2260, 2);  // a second of all streams
}

TEST(Workload, TheSameSeedGivesTheSameEvents) {
    const auto make = [](std::uint64_t with_seed) {
        Sampler sampler(Profile::atlas2018(), with_seed);
        EventGenerator generator(Profile::atlas2018(), with_seed);
        GeneratedEvent event;
        for (int i = 0; i < 3; ++i) generator.generate(sampler.next(), ids, event);
        return event.bytes;
    };
    EXPECT_EQ(make(seed), make(seed));
    EXPECT_NE(make(seed), make(seed + 1));
}

TEST(Workload, EveryEventIsValidAndOfItsSizeInItsStream) {
    for (const auto checksum : {event::ChecksumType::none, event::ChecksumType::adler32}) {
        Sampler sampler(Profile::atlas2018(), seed);
        EventGenerator generator(Profile::atlas2018(), seed, checksum);
        GeneratedEvent event;
        std::map<std::size_t, int> seen;
        for (int i = 0; i < 60; ++i) {
            const auto plan = sampler.next();
            ++seen[plan.stream];
            generator.generate(plan, ids, event);
            const auto report = event::check_event(
                event.bytes, event::Format::event_5_0, event::Depth::fragments,
                {.reject_level1_mismatch = true, .reject_run_mismatch = true, .reject_source_mismatch = true});
            ASSERT_TRUE(report.has_value()) << report.error().context;
            const auto view = event::EventView::parse(event.bytes, event::Format::event_5_0).value();
            EXPECT_EQ(view.ids(), ids);
            EXPECT_EQ(view.stream_tags().value(), event.tags);
            EXPECT_EQ(event.tags.size(), plan.express ? 2U : 1U);

            const auto cut = event::cut_event(view, event.tags.front()).value().to_bytes();
            EXPECT_NEAR(static_cast<double>(cut.size()), static_cast<double>(plan.stored_size.count()), 4.0);
            ASSERT_TRUE(event::check_event(cut, event::Format::event_5_0, event::Depth::fragments).has_value());
            const bool partial = sampler.profile().streams[plan.stream].partial;
            EXPECT_EQ(event.tags.front().partial(), partial);
            if (partial) {
                EXPECT_LT(cut.size(), event.bytes.size()) << "there must be something to cut";
                EXPECT_LE(static_cast<double>(event.bytes.size()), static_cast<double>(cut.size()) * 1.05);
            } else {
                EXPECT_EQ(cut, event.bytes);
                EXPECT_NEAR(static_cast<double>(event.bytes.size()) / report->robs, 1050, 20);
            }
        }
        EXPECT_GE(seen.size(), 4U);
    }
}

TEST(Workload, TheSmallestPartialEventStillHasSomethingToCut) {
    const auto profile = Profile::atlas2018();
    EventGenerator generator(profile, seed, event::ChecksumType::adler32);
    GeneratedEvent event;
    generator.generate({.stream = 3, .stored_size = profile.streams[3].size_min}, ids, event);
    EXPECT_LE(event.bytes.size(), 2100U);
    EXPECT_EQ(
        event::cut_event(event::EventView::parse(event.bytes, event::Format::event_5_0).value(), event.tags.front())
            .value()
            .size(),
        2000U);
}

TEST(Workload, WordsLookLikeADetectorsNotLikeZerosOrNoise) {
    EventGenerator generator(Profile::atlas2018(), seed);
    GeneratedEvent event;
    generator.generate({.stream = 0, .stored_size = Bytes{1'000'000}}, ids, event);
    std::map<std::byte, std::size_t> counts;
    for (const auto byte : event.bytes) ++counts[byte];
    EXPECT_GT(counts.size(), 200U);
    EXPECT_LT(counts[std::byte{0}], event.bytes.size() / 5);
    const auto most = std::ranges::max_element(counts, {}, [](const auto& c) { return c.second; });
    EXPECT_LT(most->second, event.bytes.size() / 3);
    EXPECT_GT(most->second, event.bytes.size() / 100);  // pedestals are frequent
}

}  // namespace
}  // namespace weir::workload
