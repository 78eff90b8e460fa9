// SPDX-License-Identifier: Apache-2.0
#include "weir/service/event_tap.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "weir/base/named_thread.hpp"

namespace weir::service {
namespace {

using namespace std::chrono_literals;

/// A clock of which each look takes a while, so that looking at an event costs time.
class SlowClock final : public Clock {
public:
    SteadyTime now() const noexcept override {
        return SteadyTime{std::chrono::microseconds{passed_.fetch_add(step, std::memory_order_relaxed)}};
    }
    WallTime wall() const noexcept override { return {}; }
    void advance(std::chrono::microseconds by) const noexcept {
        passed_.fetch_add(by.count(), std::memory_order_relaxed);
    }
    std::int64_t step = 0;

private:
    mutable std::atomic<std::int64_t> passed_{3'600'000'000};
};

class Tap : public ::testing::Test {
protected:
    void ask(TapWish wish) {
        tap.ask(std::move(wish), clock.now(), [this](Tapped one) { got.push_back(std::move(one)); });
    }
    void offer(std::string_view event, bool incomplete = false, std::span<const StreamTag> tags = {}) {
        const std::array pieces{as_data(event.substr(0, 1)), as_data(event.substr(1))};
        tap.offer(pieces, {.incomplete = incomplete, .tags = tags}, clock);
    }

    SlowClock clock;
    std::vector<Tapped> got;
    EventTap tap;  // the last member: it answers who still waits when it ends
};

TEST_F(Tap, NobodyGetsAnythingThatWasNotAskedForAndARequestGetsOneEvent) {
    EXPECT_FALSE(tap.wanted());
    offer("before");
    ask({});
    EXPECT_TRUE(tap.wanted());
    offer("first");
    offer("second");
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0].event, "first");
    EXPECT_FALSE(tap.wanted());
}

TEST_F(Tap, SeveralMayAskAndEachGetsTheEventThatItWishesFor) {
    const std::array physics{parse_stream_key("physics_Main").value()};
    tap.match_by([](ConstData event, const TapWish& wish) { return !wish.source || as_text(event).contains('s'); });
    ask({.stream = "physics_Main"});
    ask({.source = SourceId{7}});
    ask({.size_min = 8});
    ask({.size_max = 2});
    ask({.incomplete = true});
    offer("abcd", false, physics);
    offer("abs", false, std::array{parse_stream_key("debug_x").value()});
    offer("abcdefgh");
    offer("ab");
    offer("abc", true);
    ASSERT_EQ(got.size(), 5U);
    EXPECT_EQ(got[0].event, "abcd");
    EXPECT_EQ(got[1].event, "abs");
    EXPECT_EQ(got[2].event, "abcdefgh");
    EXPECT_EQ(got[3].event, "ab");
    EXPECT_EQ(got[4].event, "abc");
    EXPECT_EQ(got[4].passed, 5U);
}

TEST_F(Tap, StreamsThatAreKnownCountInPlaceOfThoseInTheEvent) {
    const std::array physics{parse_stream_key("physics_Main").value()};
    tap.match_by([](ConstData, const TapWish& wish) { return wish.stream.empty(); });  // the header names none
    ask({.stream = "physics_Main", .source = SourceId{7}});
    offer("without");
    EXPECT_TRUE(got.empty());
    offer("with", false, physics);
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0].event, "with");
}

TEST_F(Tap, ARequestThatWaitedInVainIsAnsweredWithHowManyPassed) {
    ask({.incomplete = true, .wait = 500ms});
    offer("a");
    offer("b");
    tap.expire(clock.now() + 400ms);
    EXPECT_TRUE(got.empty());
    tap.expire(clock.now() + 501ms);
    ASSERT_EQ(got.size(), 1U);
    EXPECT_FALSE(got[0].event);
    EXPECT_EQ(got[0].passed, 2U);
    EXPECT_FALSE(tap.wanted());
}

TEST_F(Tap, WhoWishesForAStreamThatDoesNotComeIsToldWhichDo) {
    const std::array both{parse_stream_key("physics_Main").value(), parse_stream_key("debug_x").value()};
    ask({.stream = "physics_Mian"});
    ask({.size_min = 100});
    for (int i = 0; i < 3; ++i) offer("ab", false, both);
    offer("cd");  // without a stream that is known
    std::vector<StreamTag> many;
    for (int i = 0; i < 100; ++i) many.push_back(parse_stream_key("physics_" + std::to_string(i)).value());
    tap.expire(SteadyTime::max());
    ASSERT_EQ(got.size(), 2U);
    EXPECT_EQ(got[0].streams, (std::vector<std::string>{"physics_Main", "debug_x"}));
    EXPECT_TRUE(got[1].streams.empty());
    ask({.stream = "physics_Mian"});
    offer("ab", false, many);
    tap.expire(SteadyTime::max());
    ASSERT_EQ(got.size(), 3U);
    EXPECT_EQ(got[2].streams.size(), EventTap::streams_max);
}

TEST(TapWishOfAQuery, ThatIsWrongIsRefusedInOneLineWhateverItHas) {
    for (const auto query : {std::string_view("wait=100R\n\0", 12), std::string_view("a\nb=c"),
                             std::string_view("stream=\n"), std::string_view("source=\r\n")}) {
        const auto wish = parse_tap_wish(query);
        ASSERT_FALSE(wish);
        EXPECT_EQ(wish.error().message().find_first_of("\r\n"), std::string::npos) << wish.error().message();
    }
}

TEST_F(Tap, MemoryAndThoseWhoWaitAreBounded) {
    for (std::size_t i = 0; i < EventTap::waiting_max; ++i) ask({});
    EXPECT_TRUE(got.empty());
    ask({});
    ASSERT_EQ(got.size(), 1U);
    EXPECT_TRUE(got[0].refused);
    const std::string large(EventTap::event_max.count() + 1, 'x');
    offer(large);
    EXPECT_EQ(got.size(), 1U);
    tap.expire(SteadyTime::max());
    ASSERT_EQ(got.size(), 1 + EventTap::waiting_max);
    EXPECT_EQ(got.back().too_large, 1U);
}

TEST_F(Tap, TakesOnePartIn200OfTheTimeOfTheThreadsThatOffer) {
    clock.step = 10;  // a look takes 10 us
    std::uint64_t looked = 0;
    for (int i = 0; i < 100'000; ++i) {  // events of 10 us, for a second and more
        if (!tap.wanted()) ask({});
        const auto before = got.size();
        offer("event");
        looked += got.size() - before;
    }
    // Each look takes 10 us and is followed by 2000 us without one; each event takes some 10 us in this clock.
    EXPECT_GE(looked, 100U);
    EXPECT_LE(looked, 1100U);
}

TEST_F(Tap, ManyMayOfferAskAndExpireAtOnceAndEachRequestIsAnsweredOnce) {
    std::atomic<int> answers{0}, events{0};
    int asked = 0;
    {
        const auto offers = [&](const std::stop_token& stop) {
            const std::array pieces{as_data("event")};
            while (!stop.stop_requested()) {
                clock.advance(1us);
                if (tap.wanted()) tap.offer(pieces, {}, clock);
            }
        };
        const NamedThread a("a", offers), b("b", offers);
        for (; asked < 2000; ++asked) {
            tap.ask({}, clock.now(), [&](const Tapped& one) {
                answers += 1;
                events += one.event ? 1 : 0;
            });
            if (asked % 7 == 0) tap.expire(SteadyTime::max());
        }
        while (events == 0) {
            tap.ask({}, clock.now(), [&](const Tapped& one) { answers += 1, events += one.event ? 1 : 0; });
            ++asked;
            std::this_thread::yield();
        }
    }
    tap.expire(SteadyTime::max());
    EXPECT_EQ(answers, asked);
}

TEST(TapWish, IsReadFromAQueryAndWhatIsWrongIsNamed) {
    const auto wish =
        parse_tap_wish("stream=physics_Main&source=0x420000&size_min=10&size_max=20&incomplete=1&wait=500");
    ASSERT_TRUE(wish);
    EXPECT_EQ(wish->stream, "physics_Main");
    EXPECT_EQ(wish->source, SourceId{0x420000});
    EXPECT_EQ(wish->size_min, 10U);
    EXPECT_EQ(wish->size_max, 20U);
    EXPECT_TRUE(wish->incomplete);
    EXPECT_EQ(wish->wait, 500ms);
    EXPECT_TRUE(parse_tap_wish(""));
    for (const auto* wrong : {"stream=", "stream=Main", "source=x", "size_min=-1", "size_max=1e3", "incomplete=yes",
                              "wait=10001", "wait=", "other=1", "stream", "&", "=1", "wait=99999999999999999999"})
        EXPECT_FALSE(parse_tap_wish(wrong)) << wrong;
}

}  // namespace
}  // namespace weir::service
