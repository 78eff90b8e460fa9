// SPDX-License-Identifier: Apache-2.0
#include "sources/source_watch.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace weir::control {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using Kind = SourceFinding::Kind;

struct SourceWatchTest : testing::Test {
    SourceLimits limits{.silent_after = 10s};
    std::optional<SourceWatch> watch;
    SteadyTime now{1h};
    std::vector<RunSource> sources{{.counts = {.source = SourceId{1}, .outside = true}},
                                   {.counts = {.source = SourceId{2}, .outside = true}}};
    std::vector<std::string> found;

    static std::string text(const SourceFinding& finding) {
        const char* const kinds[] = {"silent", "again", "missing", "mask"};
        return fmt::format("{} {}: {}", number(finding.source), kinds[static_cast<int>(finding.kind)], finding.what);
    }
    /// Each second: fragments of source 1, and of source 2, arrive.
    void pass(int seconds, std::uint64_t first, std::uint64_t second, bool active = true) {
        if (!watch) watch.emplace(limits);
        for (int i = 0; i < seconds; ++i) {
            now += 1s;
            sources[0].counts.arrived += first;
            sources[1].counts.arrived += second;
            for (const auto& finding : watch->look(now, active, sources)) found.push_back(text(finding));
        }
    }
};

TEST_F(SourceWatchTest, ASourceIsSilentWhenItSendsNothingWhileOthersDo) {
    pass(20, 5, 5);
    pass(15, 5, 0);
    EXPECT_THAT(found, ElementsAre("2 silent: no fragment for 10s, while others send"));
    EXPECT_TRUE(sources[1].silent);
    pass(1, 5, 5);
    EXPECT_EQ(found.back(), "2 again: it sends again");
    EXPECT_FALSE(sources[1].silent);
    pass(15, 5, 0);
    EXPECT_EQ(found.size(), 3U) << "silent once more";
}

TEST_F(SourceWatchTest, OfASourceThatSendsWhatNobodyCanTakeItIsSaidWhatBecameOfIt) {
    sources[1].counts.duplicated = 7;
    pass(5, 5, 5);
    for (int i = 0; i < 15; ++i) {
        sources[1].counts.late += 3;
        sources[1].counts.duplicated += 2;
        sources[1].counts.refused += i == 0 ? 1 : 0;
        pass(1, 5, 0);
    }
    EXPECT_THAT(found, ElementsAre("2 silent: no fragment was taken for 10s; of those that came 30 were late, "
                                   "20 duplicated, 1 refused, while others send"));
    EXPECT_TRUE(sources[1].silent);
}

TEST_F(SourceWatchTest, NoneIsSilentWhenNoTriggersCome) {
    pass(5, 5, 5);
    pass(100, 0, 0);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(SourceWatchTest, TimeInWhichTheRunIsPausedIsNoSilence) {
    pass(5, 5, 5);
    pass(100, 5, 0, false);
    pass(9, 5, 0);
    EXPECT_THAT(found, IsEmpty());
    pass(3, 5, 0);
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(SourceWatchTest, ASourceThatNeverSendsIsSilentWhenEventsAreBuiltWithoutIt) {
    pass(12, 0, 0);
    EXPECT_THAT(found, IsEmpty());
    sources[0].counts.expected = sources[0].counts.missing = 82;
    pass(1, 0, 0);
    EXPECT_THAT(found, ElementsAre("1 silent: no fragment for 12s, and 82 events were built without it",
                                   "1 missing: missing in 82 of 82 events"));
    sources[0].counts.expected = sources[0].counts.missing = 164;
    pass(20, 0, 0);
    EXPECT_EQ(found.size(), 2U) << "each once";
}

TEST_F(SourceWatchTest, AGeneratorThatHasFilledItsBuffersIsNotSilent) {
    sources[1].counts.outside = false;
    pass(5, 5, 5);
    pass(100, 5, 0);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(SourceWatchTest, LossesAreAFindingAlthoughTheSourceSends) {
    pass(1, 5, 5);
    sources[0].counts.expected = 100'000;
    sources[0].counts.missing = 100;
    pass(1, 5, 5);
    EXPECT_THAT(found, IsEmpty());
    sources[0].counts.missing = 101;
    pass(5, 5, 5);
    EXPECT_THAT(found, ElementsAre("1 missing: missing in 101 of 100000 events"));
}

TEST_F(SourceWatchTest, TheRuleMasksAfterSoManyEventsInARow) {
    limits.mask_after = {.events = 20};
    pass(1, 5, 5);
    for (int i = 0; i < 10; ++i) {  // now and then one is missing
        sources[0].counts.missing += 3;
        pass(1, 5, 5);
    }
    sources[0].counts.expected = 1'000'000;
    pass(1, 0, 5);
    sources[0].counts.missing += 20;
    pass(3, 0, 5);
    EXPECT_EQ(found.back(), "1 mask: 20 events one after the other without it");
    EXPECT_EQ(std::ranges::count_if(found, [](const auto& f) { return f.starts_with("1 mask"); }), 1);
}

TEST_F(SourceWatchTest, TheRuleMasksAfterATimeOfSilenceAndAMaskedSourceIsNotWatched) {
    limits.mask_after = {.time = 20s};
    pass(1, 5, 5);
    pass(25, 5, 0);
    EXPECT_THAT(found, ElementsAre("2 silent: no fragment for 10s, while others send", "2 mask: silent for 20s"));
    sources[1].masked = true;
    pass(100, 5, 0);
    EXPECT_EQ(found.size(), 2U);
    EXPECT_FALSE(sources[1].silent);
}

}  // namespace
}  // namespace weir::control
