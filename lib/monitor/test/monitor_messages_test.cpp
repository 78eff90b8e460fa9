// SPDX-License-Identifier: Apache-2.0
#include "monitor_messages.hpp"

#include <gtest/gtest.h>

#include <random>

#include "sample_histograms.hpp"

namespace weir::monitor {
namespace {

ConstData body_of(const std::vector<std::byte>& message) { return ConstData(message).subspan(plugin::message_head); }

void expect_same(const Histogram& a, const Histogram& b) {
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.title, b.title);
    EXPECT_EQ(a.value_title, b.value_title);
    EXPECT_EQ(a.x, b.x);
    EXPECT_EQ(a.y, b.y);
    EXPECT_EQ(a.contents, b.contents);
    EXPECT_EQ(a.squares, b.squares);
    EXPECT_EQ(a.entries, b.entries);
    EXPECT_EQ(a.sums, b.sums);
}

TEST(MonitorMessages, HistogramsComeAsTheyWereSent) {
    for (const auto& histogram : test::sample_histograms()) {
        std::vector<std::byte> message;
        write_histogram(histogram, message);
        const auto read = read_histogram(body_of(message));
        ASSERT_TRUE(read) << read.error().message();
        expect_same(*read, histogram);
    }
}

TEST(MonitorMessages, AHistogramThatIsCutShortOrDamagedIsAnErrorOrOneWithinTheLimits) {
    std::mt19937 random(5);
    for (const auto& histogram : test::sample_histograms()) {
        std::vector<std::byte> message;
        write_histogram(histogram, message);
        const auto body = body_of(message);
        for (std::size_t size = 0; size < body.size(); ++size)
            EXPECT_FALSE(read_histogram(body.first(size))) << histogram.name << " " << size;
        for (int i = 0; i < 20'000; ++i) {
            std::vector<std::byte> damaged(body.begin(), body.end());
            damaged[random() % 150 % damaged.size()] ^= std::byte{static_cast<unsigned char>(1U << random() % 8)};
            const auto read = read_histogram(damaged);
            if (!read) continue;
            EXPECT_EQ(fault_of(*read), nullptr);
            EXPECT_EQ(read->contents.size(), read->cells());
        }
    }
}

TEST(MonitorMessages, CountersComeAsTheyWereSentAndNoMoreThanAreAllowed) {
    const Counter first{"first", 3}, second{"second", -0.5};
    const Counter* const both[]{&first, &second};
    std::vector<std::byte> message;
    write_counters(both, message);
    const auto read = read_counters(body_of(message));
    ASSERT_TRUE(read);
    ASSERT_EQ(read->size(), 2U);
    EXPECT_EQ(read->at(0).name, "first");
    EXPECT_EQ(read->at(1).value, -0.5);
    for (std::size_t size = 0; size < body_of(message).size(); ++size)
        EXPECT_FALSE(read_counters(body_of(message).first(size)));
    message.clear();
    write_counters(std::vector<const Counter*>(1001, &first), message);
    EXPECT_FALSE(read_counters(body_of(message)));
}

TEST(MonitorMessages, AnEventComesWithItsFragmentsInPlace) {
    const std::string payload = "header....rob one[data]end..rob two.";
    const auto bytes = as_data(payload);
    const Fragment fragments[]{
        {.source = SourceId{0x420000}, .status = 0, .bytes = bytes.subspan(10, 16), .data = bytes.subspan(17, 6)},
        {.source = SourceId{0x430000}, .status = 4, .bytes = bytes.subspan(28, 8)}};
    const Event event{.run = RunNumber{7},
                      .global_id = GlobalEventId{1ULL << 40},
                      .level1_id = Level1Id{9},
                      .lumi_block = LumiBlock{2},
                      .bunch_crossing_id = 3,
                      .trigger_type = 0x81,
                      .seconds = 5,
                      .nanoseconds = 6,
                      .fragments = fragments,
                      .payload = bytes};
    std::vector<std::byte> message;
    write_event(event, message);
    std::vector<Fragment> read_fragments;
    const auto read = read_event(body_of(message), read_fragments);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->global_id, event.global_id);
    EXPECT_EQ(read->trigger_type, 0x81U);
    EXPECT_EQ(read->nanoseconds, 6U);
    EXPECT_EQ(as_text(read->payload), payload);
    ASSERT_NE(read->find(SourceId{0x420000}), nullptr);
    EXPECT_EQ(as_text(read->find(SourceId{0x420000})->data), "[data]");
    EXPECT_EQ(as_text(read->find(SourceId{0x430000})->bytes), "rob two.");
    EXPECT_TRUE(read->find(SourceId{0x430000})->data.empty());
    EXPECT_EQ(read->find(SourceId{0x430000})->status, 4U);
    EXPECT_EQ(read->find(SourceId{0x440000}), nullptr);
    for (std::size_t size = 0; size < body_of(message).size(); ++size)
        EXPECT_FALSE(read_event(body_of(message).first(size), read_fragments)) << size;
}

}  // namespace
}  // namespace weir::monitor
