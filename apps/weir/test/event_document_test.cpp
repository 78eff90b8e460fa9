// SPDX-License-Identifier: Apache-2.0
#include "files/events/event_document.hpp"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <random>

#include "files/events/bare_events.hpp"
#include "files/events/event_lines.hpp"
#include "weir/event/event_builder.hpp"
#include "weir/event/rob_builder.hpp"
#include "weir/workload/event_generator.hpp"

namespace weir::app {
namespace {

std::vector<std::byte> generated_event() {
    workload::GeneratedEvent made;
    workload::EventGenerator(workload::Profile::atlas2018(), 1)
        .generate({.stream = 0, .stored_size = Bytes{20'000}}, {.run = RunNumber{7}}, made);
    return made.bytes;
}

TEST(EventDocument, HasTheHeaderAndEachRobWithTheFactsOfItsRod) {
    const auto bytes = generated_event();
    const auto document = event_document(bytes);
    EXPECT_EQ(document.at("run").to_number<int>(), 7);
    EXPECT_EQ(document.at("bytes").to_number<std::size_t>(), bytes.size());
    EXPECT_EQ(document.at("rob_list").as_array().size(), document.at("robs").to_number<std::size_t>());
    EXPECT_EQ(document.at("left_out").to_number<int>(), 0);
    EXPECT_TRUE(document.at("rob_list").at(0).at("rod").as_object().contains("level1_id"));
    EXPECT_TRUE(document.at("header").as_object().contains("status_names"));
    EXPECT_FALSE(document.contains("error"));
    EXPECT_FALSE(document.contains("offset")) << "it is in no file";
}

std::vector<std::byte> compressed_event(std::size_t robs, std::size_t words) {
    const std::vector<std::uint32_t> data(words, 0);
    std::vector<std::byte> rob;
    EXPECT_TRUE(event::append_rob(rob, {.source = SourceId{0x420000}}, data));
    const std::vector<ConstData> all(robs, rob);
    return event::build_event({.compression = event::Compression::zlib}, all).value_or(std::vector<std::byte>{});
}

TEST(EventDocument, OfManyRobsHasTheFirstAndCountsTheOthersAlsoWhenItIsCompressed) {
    const auto document = event_document(compressed_event(5000, 0));
    EXPECT_EQ(document.at("robs").to_number<int>(), 5000);
    EXPECT_EQ(document.at("rob_list").as_array().size(), 2000U);
    EXPECT_EQ(document.at("left_out").to_number<int>(), 3000);
}

TEST(EventDocument, ASmallEventThatUnpacksToMuchIsNotUnpacked) {
    const auto bytes = compressed_event(1, 17U << 20);
    ASSERT_LT(bytes.size(), 1U << 20);
    const auto document = event_document(bytes);
    EXPECT_TRUE(document.contains("error"));
    EXPECT_TRUE(document.contains("header"));
    EXPECT_FALSE(document.contains("rob_list"));
}

TEST(EventDocument, OfAnyBytesIsADocumentAndOnlyPrintableLinesOfBoundedLength) {
    const auto whole = generated_event();
    std::mt19937 draw(1);
    std::uniform_int_distribution<int> one_of_256(0, 255);
    for (int sample = 0; sample < 10'000; ++sample) {
        auto bytes = whole;
        for (auto faults = 1 + draw() % 4; faults > 0; --faults) {
            const auto at = draw() % 4 != 0 ? draw() % std::min<std::size_t>(bytes.size(), 600) : draw() % bytes.size();
            bytes[at] = static_cast<std::byte>(one_of_256(draw));
        }
        if (draw() % 4 == 0) bytes.resize(draw() % bytes.size());
        const auto document = event_document(bytes);
        ASSERT_TRUE(json::parse(json::serialize(document), {.depth = 32})) << "sample " << sample;
        ASSERT_EQ(document.at("bytes").to_number<std::size_t>(), bytes.size());
        FileWalk::Block block;
        block.separator.size = static_cast<std::uint32_t>(bytes.size());
        const auto summary = summarize(block, bytes, BareEvents::format_of(bytes));
        for (const auto& shown : {event_line(summary), tapped_event_line("ef-1", summary)}) {
            ASSERT_LT(shown.size(), 100'000U);
            for (const char c : shown) ASSERT_TRUE(c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f));
        }
    }
}

}  // namespace
}  // namespace weir::app
