// SPDX-License-Identifier: Apache-2.0
#include "weir/service/sampled_events.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "weir/base/named_thread.hpp"

namespace weir::service {
namespace {

using namespace std::chrono_literals;

std::string text_of(const SampledEvents& samples) {
    const auto event = samples.latest();
    return event ? std::string(as_text(*event)) : "none";
}

TEST(SampledEvents, TheNewestWinsButNotMoreOftenThanTheInterval) {
    SampledEvents samples(100ms);
    const SteadyTime now{1h};
    EXPECT_EQ(text_of(samples), "none");
    const std::array pieces{as_data("fir"), as_data("st")};
    EXPECT_TRUE(samples.offer(pieces, now));
    EXPECT_FALSE(samples.due(now + 99ms));
    EXPECT_FALSE(samples.offer(as_data("too soon"), now + 99ms));
    EXPECT_TRUE(samples.due(now + 100ms));
    EXPECT_EQ(text_of(samples), "first");
    EXPECT_TRUE(samples.offer(as_data("second"), now + 100ms));
    EXPECT_EQ(text_of(samples), "second");
    samples.clear();
    EXPECT_EQ(text_of(samples), "none");
}

TEST(SampledEvents, AnEventThatIsTooLargeIsNotTaken) {
    SampledEvents samples(0ms, Bytes{4});
    EXPECT_FALSE(samples.offer(as_data("12345"), SteadyTime{1h}));
    EXPECT_TRUE(samples.offer(as_data("1234"), SteadyTime{1h}));
}

TEST(SampledEvents, ManyMayOfferAndReadAtOnceAndSeeWholeEvents) {
    SampledEvents samples(0ms);
    std::atomic<int> mixed{0};
    {
        const auto offer = [&](char letter) {
            return [&samples, letter](const std::stop_token& stop) {
                const std::string event(1000, letter);
                while (!stop.stop_requested()) samples.offer(as_data(event), SteadyTime{1h});
            };
        };
        const NamedThread a("a", offer('a')), b("b", offer('b'));
        for (int i = 0; i < 1000; ++i) {
            const auto text = text_of(samples);
            if (text != "none" && text != std::string(1000, text[0])) ++mixed;
        }
        while (samples.taken() == 0) std::this_thread::yield();
    }
    EXPECT_EQ(mixed, 0);
}

}  // namespace
}  // namespace weir::service
