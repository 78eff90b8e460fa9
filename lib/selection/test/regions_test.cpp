// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "simulated_partition.hpp"
#include "weir/selection/region_rules.hpp"

namespace weir::selection {
namespace {

using namespace std::chrono_literals;
using namespace test;

using Sources = std::vector<SourceId>;

Sources of(const RegionRule& rule, const wire::EventTicket& event) {
    Sources sources;
    const auto found = rule(event, sources);
    EXPECT_TRUE(found) << found.error().message();
    return sources;
}

TEST(Regions, ATableNamesTheSourcesOfAllRowsThatHold) {
    const auto table = make_region_table({"type:0x81 = 0x420000+0x420001", "word:1:5 = 0x420001+7", "all=0x7c0000"});
    ASSERT_TRUE(table) << table.error().message();
    EXPECT_EQ(of(*table, {.trigger_type = 0x80}), (Sources{SourceId{0x7c0000}}));
    EXPECT_EQ(of(*table, {.trigger_type = 0x81}),
              (Sources{SourceId{0x420000}, SourceId{0x420001}, SourceId{0x7c0000}}));
    EXPECT_EQ(of(*table, {.trigger_type = 0x81, .level1_words = {32, 0xffff'ffdf}}),
              (Sources{SourceId{0x420000}, SourceId{0x420001}, SourceId{0x7c0000}}));
    EXPECT_EQ(of(*table, {.trigger_type = 0x81, .level1_words = {0, 32}}),
              (Sources{SourceId{0x420000}, SourceId{0x420001}, SourceId{7}, SourceId{0x7c0000}}));
}

TEST(Regions, ARowThatIsNoneIsNamed) {
    for (const auto* row : {"", "0x420000", "type:0x81", "type: = 1", "type:x = 1", "word:0 = 1", "word:0:32 = 1",
                            "word:256:0 = 1", "all = ", "all = 1+", "every = 1", "type:1 = 0x1 0x2"}) {
        const auto table = make_region_table({"all = 1", row});
        ASSERT_FALSE(table) << row;
        EXPECT_EQ(table.error().code, Errc::usage);
        EXPECT_NE(table.error().context.find(row), std::string::npos) << table.error().context;
    }
}

TEST(Regions, ALibraryThatHasNoneIsRefused) {
    const auto loaded = load_region_rule(WEIR_NO_SELECTION);
    ASSERT_FALSE(loaded);
    EXPECT_NE(loaded.error().context.find("WEIR_REGIONS"), std::string::npos) << loaded.error().context;
    EXPECT_FALSE(load_region_rule("nothing.so"));
}

TEST(Regions, APluginNamesThemFromTheLevel1WordsEachOnce) {
    const auto rule = load_region_rule(WEIR_FAULTY_REGIONS);  // each level-1 word is a source; word 13 throws
    ASSERT_TRUE(rule) << rule.error().message();
    EXPECT_EQ(of(*rule, {.level1_words = {5, 3, 5}}), (Sources{SourceId{3}, SourceId{5}}));
    Sources sources;
    const auto failed = (*rule)({.level1_words = {5, 13}}, sources);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().context, "no such sector");
}

/// The regions that units asked the readouts for.
Sources asked_for(const SimulatedPartition& p) {
    Sources all;
    for (const auto* readout : p.readouts)
        for (const auto& [source, times] : readout->asked_for()) all.push_back(SourceId{source});
    return all;
}

TEST(Regions, OnlyTheSourcesThatARuleNamesAreRequested) {
    SupervisorOptions options{.events = 100};
    options.regions_of = *make_region_table({"all = 1001+2003"});
    SimulatedPartition p(1, {}, options, 2);
    ASSERT_TRUE(p.net.run_until([&] { return p.finished(); }, 10s));
    EXPECT_TRUE(p.all_decided(100));
    EXPECT_EQ(asked_for(p), (Sources{SourceId{1001}, SourceId{2003}}));
}

TEST(Regions, AnEventOnWhichTheRuleFailsGetsAllFragmentsAndIsAnAlarm) {
    SupervisorOptions options{.events = 20};
    options.regions_of = [](const wire::EventTicket& event, Sources&) -> Result<> {
        if (number(event.level1_id) == 7) return fail(Errc::refused, "no such sector");
        return {};
    };
    SimulatedPartition p(1, {}, options, 1);
    ASSERT_TRUE(p.net.run_until([&] { return p.finished(); }, 10s));
    EXPECT_EQ(p.supervisor->counts().regions_failed, 1U);
    EXPECT_NE(std::ranges::find(p.reports, "regions of interest failed"), p.reports.end());
    EXPECT_EQ(asked_for(p).size(), 12U);
    EXPECT_TRUE(p.all_decided(20));
}

}  // namespace
}  // namespace weir::selection
