// SPDX-License-Identifier: Apache-2.0
#include "notify/notify_queue.hpp"

#include <gmock/gmock.h>

#include "weir/json/parse.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

NotifyMessage alarm(int number) {
    return {.event = NotifyEvent::alarm,
            .text = "alarm of rec-1: a" + std::to_string(number),
            .station = "rec-1",
            .alarm = "a" + std::to_string(number)};
}

NotifyMessage stop(std::uint32_t run) {
    return {.event = NotifyEvent::stop, .run = RunNumber{run}, .text = "run " + std::to_string(run) + " has ended"};
}

TEST(NotifyQueueTest, BelowTheLimitEachMessageGoesAsItIs) {
    NotifyQueue queue(10);
    const ManualClock clock;
    for (int i = 0; i < 9; ++i) queue.add(alarm(i));
    queue.add(stop(1));
    for (int i = 0; i < 9; ++i) {
        const auto message = queue.take(clock.now());
        ASSERT_TRUE(message);
        EXPECT_EQ(message->alarm, "a" + std::to_string(i));
        EXPECT_EQ(message->more, 0U);
    }
    EXPECT_EQ(queue.take(clock.now())->event, NotifyEvent::stop);
    EXPECT_FALSE(queue.take(clock.now()));
    EXPECT_FALSE(queue.next(clock.now()));
}

TEST(NotifyQueueTest, AFloodOfAlarmsIsTheAllowedNumberOfMessagesAndTheLastOfThemSumsUpTheRest) {
    NotifyQueue queue(20);
    ManualClock clock;
    for (int i = 0; i < 77; ++i) queue.add(alarm(i));
    queue.add(stop(5));
    std::vector<NotifyMessage> taken;
    while (auto message = queue.take(clock.now())) taken.push_back(std::move(*message));
    ASSERT_EQ(taken.size(), 21U);
    EXPECT_EQ(taken[19].alarm, "a19");
    EXPECT_EQ(taken[19].more, 57U);
    EXPECT_EQ(taken[19].others.size(), 20U);
    EXPECT_THAT(text_of(taken[19], "p"), HasSubstr("a19; and 57 more alarms"));
    EXPECT_EQ(taken[20].event, NotifyEvent::stop) << "an end of a run does not wait behind alarms";
    EXPECT_EQ(queue.summed_up(), 57U);

    queue.add(alarm(100));
    queue.add(alarm(101));
    EXPECT_FALSE(queue.take(clock.now()));
    EXPECT_EQ(queue.next(clock.now()), clock.now() + 1min);
    clock.advance(1min);
    EXPECT_EQ(queue.take(clock.now())->alarm, "a100");
    EXPECT_EQ(queue.take(clock.now())->alarm, "a101");
    EXPECT_EQ(queue.dropped(), 0U);
}

TEST(NotifyQueueTest, OneAMinuteStandsForAllThatWait) {
    NotifyQueue queue(1);
    const ManualClock clock;
    for (std::uint32_t run = 1; run <= 3; ++run) queue.add(stop(run));
    const auto message = queue.take(clock.now());
    ASSERT_TRUE(message);
    EXPECT_EQ(message->run, RunNumber{3}) << "the last one counts";
    EXPECT_EQ(message->more, 2U);
    EXPECT_THAT(message->others, testing::ElementsAre("run 2", "run 1"));
}

TEST(NotifyQueueTest, AFullOneDropsTheOldestAlarmAndCountsIt) {
    NotifyQueue queue(1, 3);
    const ManualClock clock;
    queue.add(stop(1));
    for (int i = 0; i < 5; ++i) queue.add(alarm(i));
    EXPECT_EQ(queue.size(), 3U);
    EXPECT_EQ(queue.dropped(), 3U);
    EXPECT_EQ(queue.take(clock.now())->event, NotifyEvent::stop);
    const auto rest = queue.take(clock.now());
    EXPECT_EQ(rest->alarm, "a3");
    EXPECT_EQ(rest->more, 1U);
}

TEST(NotifyQueueTest, AtTheEndNoLimitCounts) {
    NotifyQueue queue(1);
    const ManualClock clock;
    queue.add(alarm(0));
    EXPECT_TRUE(queue.take(clock.now()));
    queue.add(alarm(1));
    queue.add(stop(1));
    queue.add(alarm(2));
    EXPECT_TRUE(queue.take(clock.now()));
    EXPECT_FALSE(queue.take(clock.now())) << "the alarms of this minute are sent";
    const auto last = queue.take(clock.now(), true);
    ASSERT_TRUE(last);
    EXPECT_EQ(last->more, 1U);
    EXPECT_EQ(queue.size(), 0U);
}

TEST(NotifyMessageTest, ItsDocumentIsOneLineOfJsonWhateverItsTextsHold) {
    auto message = alarm(1);
    message.text = "alarm of rec-1: \"x\"\n\x1b[31m\xff" + std::string(5000, 'y');
    message.alarm = "a\n\"\xff";
    sum_up(message, alarm(2));
    const auto document = document_of(message, "test\nbeam", 3);
    EXPECT_EQ(document.find('\n'), document.npos);
    const auto parsed = json::parse(document);
    ASSERT_TRUE(parsed) << parsed.error().message();
    const auto& object = parsed->as_object();
    EXPECT_EQ(object.at("event"), "alarm");
    EXPECT_EQ(object.at("missed"), 3);
    EXPECT_EQ(object.at("more"), 1);
    EXPECT_EQ(object.at("others").as_array().size(), 1U);
    const std::string text(object.at("text").as_string());
    EXPECT_THAT(text, HasSubstr("test\\nbeam: alarm of rec-1: \"x\"\\n\\x1b[31m"));
    EXPECT_LT(text.size(), 1700U);
    for (const auto& variable : variables_of(message, "p")) EXPECT_EQ(variable.find('\n'), variable.npos);
}

}  // namespace
}  // namespace weir::control
