// SPDX-License-Identifier: Apache-2.0
// Fragments with times, from the intake through the matching into the buffers.
#include "matching/matched_intake.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <thread>

#include "store_sample.hpp"
#include "weir/base/random.hpp"
#include "weir/base/system_clock.hpp"

namespace weir::readout {
namespace {

using namespace std::chrono_literals;
using wire::RobState;

constexpr std::uint32_t one = 0x10, other = 0x11, unused = 0x12;
constexpr std::int64_t board_offset = 987'654'321'000;

class Matched : public ::testing::Test {
protected:
    Matched() : Matched(options()) {}
    explicit Matched(const TimeMatching& matching, std::uint32_t events_max = 4096)
        : store({.sources = {SourceId{one}, SourceId{other}, SourceId{unused}},
                 .events_max = events_max,
                 .bytes_max = Bytes{4 << 20}}),
          intake(store,
                 {.rules = {.sources = {{SourceId{other}, {.level1_offset = 7}}}},
                  .run = RunNumber{9},
                  .by_time = [this](const wire::InputFragment& f, SteadyTime now) { return matched.add(f, now); }},
                 {}),
          matched(
              intake, matching,
              [this](const Report& report) {
                  const std::scoped_lock lock(mutex);
                  alarms.push_back(report.alarm);
                  texts.push_back(report.what + ": " + report.why);
              },
              clock) {}

    static TimeMatching options() {
        return {.settle = 1ms, .unlocked_after = 120s};  // however busy the machine is
    }
    /// So many triggers at random times, of events from 1 on.
    void draw(std::size_t count) {
        Random random(7);
        std::int64_t at = 1'700'000'000'000'000'000;
        for (std::uint32_t event = 1; event <= count; ++event) {
            at += 10'000 + static_cast<std::int64_t>(random.unit() * 200'000);
            times.push_back({.level1_id = Level1Id{event}, .type = 1, .time_ns = at});
        }
    }
    /// Behind all that were drawn, so that the last of them is not waited for.
    void add_later_trigger() {
        const auto& last = times.back();
        const wire::TriggerNotice later{
            .level1_id = Level1Id{number(last.level1_id) + 1}, .type = 1, .time_ns = last.time_ns + 1'000'000};
        matched.add_triggers(std::span(&later, 1));
    }
    [[nodiscard]] std::int64_t time_of(std::uint32_t event) const { return times.at(event - 1).time_ns; }
    /// The board's clock is elsewhere, and runs 10 ppm faster.
    [[nodiscard]] std::int64_t stamped(std::int64_t time) const {
        return time + board_offset + (time - times.front().time_ns) / 100'000;
    }
    IntakeAnswer send(std::uint32_t source, std::int64_t board_time, const std::string& text) {
        return intake.take({.source = SourceId{source}, .time_ns = board_time, .payload = as_data(text)}, clock.now());
    }
    static std::string text_of(std::uint32_t source, std::uint32_t event) {
        return "source " + std::to_string(source) + " event " + std::to_string(event);
    }
    bool holds(std::uint32_t source, std::uint32_t event) {
        return ask(store, event, {source}).data.find(text_of(source, event)) != std::string::npos;
    }
    [[nodiscard]] std::uint64_t received() const { return store.ledger().counts().received; }
    void wait_for(const std::function<bool()>& condition) {
        for (int i = 0; i < 120'000; ++i) {
            if (condition()) return;
            std::this_thread::sleep_for(1ms);
        }
        FAIL() << "waited for two minutes";
    }

    SystemClock clock;
    std::mutex mutex;
    std::vector<std::string> alarms, texts;
    std::vector<wire::TriggerNotice> times;
    RobStore store;
    FragmentIntake intake;
    MatchedIntake matched;
};

TEST_F(Matched, FragmentsThatBringOnlyATimeAreStoredUnderTheEventsOfTheirTriggers) {
    draw(500);
    matched.start();
    for (std::uint32_t event = 1; event <= times.size(); ++event) {
        for (const auto source : {one, other})
            EXPECT_EQ(send(source, stamped(time_of(event)), text_of(source, event)).result, IntakeResult::stored);
        if (event % 50 == 0)
            matched.add_triggers(std::span(times).subspan(event - 50, 50));  // later than their fragments
    }
    add_later_trigger();
    wait_for([&] { return received() == 2 * times.size(); });
    matched.end_run();
    for (std::uint32_t event = 1; event <= times.size(); ++event) {
        EXPECT_TRUE(holds(one, event)) << event;
        EXPECT_TRUE(holds(other, event)) << event;
        EXPECT_EQ(state(store, event, unused), RobState::not_yet);
    }
    const auto counts = matched.counts();
    EXPECT_EQ(counts.at(0).matcher.decided[static_cast<std::size_t>(Match::trigger)], times.size());
    EXPECT_TRUE(counts.at(1).matcher.locked);
    EXPECT_NEAR(counts.at(1).matcher.rate, -10'000, 500) << "the triggers' clock is slower by 10 ppm";
    EXPECT_EQ(intake.counts().at(0).arrived, times.size());
    EXPECT_TRUE(alarms.empty());
}

TEST_F(Matched, ALevel1IdThatIsGivenCountsAndNoTimeIsLookedAt) {
    const std::string text = text_of(one, 5);
    EXPECT_EQ(
        intake.take({.source = SourceId{one}, .level1_id = Level1Id{5}, .time_ns = 77, .payload = as_data(text)}, {})
            .result,
        IntakeResult::stored);
    EXPECT_TRUE(holds(one, 5));
}

TEST_F(Matched, WhatFitsNoTriggerOrMoreThanOneIsCountedAndShiftsNothing) {
    draw(300);
    constexpr std::uint32_t noisy = 100, doubled = 200, lost = 250;
    for (std::uint32_t event = 1; event <= times.size(); ++event) {
        if (event == noisy) send(one, stamped((time_of(event) + time_of(event - 1)) / 2), "noise");
        if (event == lost) continue;
        send(one, stamped(time_of(event)), text_of(one, event));
        if (event == doubled) send(one, stamped(time_of(event)) + 50, "again");
    }
    matched.add_triggers(times);
    matched.start();
    matched.end_run();
    for (std::uint32_t event = 1; event <= times.size(); ++event)
        EXPECT_EQ(holds(one, event), event != doubled && event != lost) << event;
    EXPECT_EQ(rejected(store, RobReject::no_trigger), 1U);
    EXPECT_EQ(rejected(store, RobReject::ambiguous), 2U) << "which of the two it is, is not guessed";
    EXPECT_EQ(received(), times.size() - 1 + 2);
    EXPECT_EQ(intake.counts().at(0).refused[static_cast<std::size_t>(RobReject::ambiguous)], 2U);
}

TEST_F(Matched, AClockThatFitsNothingIsReportedAndItsFragmentsAreCounted) {
    draw(200);
    Random random(3);
    for (int i = 0; i < 50; ++i) send(one, static_cast<std::int64_t>(random.unit() * 1e12), "noise");
    matched.add_triggers(times);
    matched.end_run();
    EXPECT_EQ(rejected(store, RobReject::clock_unknown), 50U);
    EXPECT_EQ(alarms, std::vector<std::string>{"board_clock"});
    EXPECT_EQ(texts, std::vector<std::string>{"fragments were refused, since their board's clock fits no sequence of "
                                              "triggers: 50 until now"});
}

TEST_F(Matched, WhatCameBeforeTheFragmentsThatShowTheClockIsRefusedWithThatReason) {
    draw(200);
    Random random(3);
    constexpr std::uint32_t noise = TimeMatcher::acquire_block;
    for (std::uint32_t i = 0; i < noise; ++i)
        send(one, stamped(time_of(1)) - 1'000'000'000 + static_cast<std::int64_t>(random.unit() * 9e8), "noise");
    for (std::uint32_t event = 1; event <= times.size(); ++event)
        send(one, stamped(time_of(event)), text_of(one, event));
    matched.add_triggers(times);
    matched.end_run();
    for (std::uint32_t event = 1; event <= times.size(); ++event) EXPECT_TRUE(holds(one, event)) << event;
    EXPECT_EQ(rejected(store, RobReject::clock_unknown), noise);
    EXPECT_EQ(alarms, std::vector<std::string>{"board_clock_late"});
    EXPECT_EQ(texts, std::vector<std::string>{"fragments were refused, since their board's clock was found only with "
                                              "those behind them: 16 until now"});
}

TEST_F(Matched, TriggersThatAreNotInOrderAreCounted) {
    draw(3);
    std::swap(times[1], times[2]);
    matched.add_triggers(times);
    matched.end_run();
    EXPECT_EQ(matched.triggers_unordered(), 1U);
}

class MatchedInLittleRoom : public Matched {
protected:
    MatchedInLittleRoom() : Matched({.settle = 1ms, .unlocked_after = 120s, .memory = Bytes{3 * 16'384}}, 64) {}
};

TEST_F(MatchedInLittleRoom, WhatFindsNoRoomWaitsAndItsSenderTooUntilEventsAreCleared) {
    draw(1000);
    matched.add_triggers(times);
    add_later_trigger();
    matched.start();
    std::jthread board([&] {
        for (std::uint32_t event = 1; event <= times.size(); ++event) {
            while (send(one, stamped(time_of(event)), text_of(one, event)).result == IntakeResult::full)
                std::this_thread::sleep_for(1ms);
        }
    });
    for (std::uint32_t event = 1; event <= times.size(); ++event) {
        wait_for([&] { return state(store, event, one) == RobState::here; });
        EXPECT_TRUE(holds(one, event)) << event;
        clear(store, {event});
    }
    board.join();
    matched.end_run();
    EXPECT_EQ(store.ledger().counts().stored, times.size());
}

TEST_F(MatchedInLittleRoom, ASourceWithoutRoomHoldsUpNoOtherAndIsRefusedAtTheEnd) {
    draw(150);
    matched.add_triggers(times);
    matched.start();
    std::uint32_t sent = 0;
    while (sent < times.size() &&
           send(one, stamped(time_of(sent + 1)), text_of(one, sent + 1)).result == IntakeResult::stored)
        ++sent;
    for (std::uint32_t event = 1; event <= 30; ++event) send(other, stamped(time_of(event)), text_of(other, event));
    wait_for([&] { return holds(other, 20); });
    store.stop_waiting();
    matched.end_run();
    EXPECT_EQ(received(), sent + 30U) << "each one is stored or refused";
}

TEST_F(MatchedInLittleRoom, OneThatIsLargerThanItsShareIsRefusedAtOnce) {
    EXPECT_EQ(send(one, 5, std::string(20'000, 'x')).reason, RobReject::too_large);
    EXPECT_EQ(rejected(store, RobReject::too_large), 1U);
}

}  // namespace
}  // namespace weir::readout
