// SPDX-License-Identifier: Apache-2.0
// The examples decide on the real events of BES III, both in the same way.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "python_selections.hpp"
#include "weir/base/file.hpp"
#include "weir/event/event_view.hpp"
#include "weir/event/raw_file_index.hpp"
#include "weir/event/rob_cursor.hpp"
#include "weir/selection/region_rules.hpp"
#include "weir/selection/result.hpp"
#include "weir/selection/selector.hpp"
#include "weir/serial/reader.hpp"

namespace weir::selection {
namespace {

namespace fs = std::filesystem;

fs::path real_events() {
    const char* const data = std::getenv("WEIR_TEST_DATA");
    return (data != nullptr ? fs::path(data) : fs::path(WEIR_SOURCE_DIR).parent_path() / "shared" / "data") / "bes3" /
           "run_0091668_SFO-1_10events.raw";
}

class Examples : public testing::Test {
protected:
    void SetUp() override {
        if (!fs::exists(real_events())) {
            const char* const allowed = std::getenv("WEIR_TEST_DATA_ABSENT");
            if (allowed != nullptr && std::string_view(allowed) == "ok")
                GTEST_SKIP() << "NOT TESTED: " << real_events() << " is absent, as WEIR_TEST_DATA_ABSENT=ok allows";
            FAIL() << real_events() << " is absent; set WEIR_TEST_DATA to the folder that holds bes3/";
        }
        auto file = File::open(real_events(), File::Mode::read);
        ASSERT_TRUE(file);
        contents_.resize(file->size().value());
        ASSERT_TRUE(file->read_at(0, contents_));
        index_ = event::RawFileIndex::make(contents_).value();
    }

    std::vector<Decision> decide(const std::string& selection) {
        SelectionSpec spec;
        spec.selection = selection;
        const auto opened = Selection::open(spec);
        EXPECT_TRUE(opened) << opened.error().message();
        if (!opened) return {};
        const auto selector = opened->make();
        std::vector<Decision> decisions;
        for (const auto& block : index_.blocks) {
            const auto bytes =
                ConstData(contents_).subspan(static_cast<std::size_t>(block.offset), block.separator.size);
            const auto whole = event::EventView::parse(bytes, event::Format::event_3_0).value();
            std::vector<Fragment> fragments;
            EXPECT_TRUE(event::for_each_rob(whole, [&](const event::FragmentView& rob) {
                fragments.push_back({rob.source(), FragmentState::here, rob.bytes()});
            }));
            const Event event{.run = whole.ids().run,
                              .global_id = whole.ids().global_id,
                              .level1_id = whole.ids().level1_id,
                              .fragments = fragments,
                              .payload = bytes};
            auto judgement = selector->select(event, {});
            EXPECT_EQ(judgement.trouble, Trouble::none) << judgement.why;
            decisions.push_back(std::move(judgement.decision));
        }
        return decisions;
    }

private:
    std::vector<std::byte> contents_;
    event::RawFileIndex index_;
};

TEST_F(Examples, TheCppSelectionCountsTheWordsOfRealEvents) {
    const auto decisions = decide(WEIR_EXAMPLE_LIBRARY);
    ASSERT_EQ(decisions.size(), 10U);
    EXPECT_EQ(decisions[0].level2_words,
              (std::vector<std::uint32_t>{405, 400}));  // as `weir show FILE --event 1` lists them
    serial::Reader reader(decisions[0].result);
    const auto findings = reader.read_any<Findings>();
    ASSERT_TRUE(findings) << findings.error().message();
    EXPECT_EQ(**findings, (Findings{"busy_chamber", {{"chamber_words", 405}, {"calorimeter_words", 400}}}));
    std::map<std::string, int> streams;
    for (const auto& decision : decisions)
        for (const auto& tag : decision.tags) ++streams[stream_key(tag)];
    EXPECT_GT(streams["physics_Main"], 0);
    EXPECT_GT(streams["calibration_Calorimeter"], 0);
}

/// What a decision may be: the same in C++ and Python.
void expect_the_same(const std::vector<Decision>& python, const std::vector<Decision>& cpp) {
    ASSERT_EQ(python.size(), cpp.size());
    for (std::size_t i = 0; i < cpp.size(); ++i) {
        EXPECT_EQ(python[i].accepted, cpp[i].accepted) << "event " << i + 1;
        EXPECT_EQ(python[i].tags, cpp[i].tags) << "event " << i + 1;
        EXPECT_EQ(python[i].level2_words, cpp[i].level2_words) << "event " << i + 1;
        EXPECT_EQ(python[i].result, cpp[i].result) << "event " << i + 1;
    }
}

TEST_F(Examples, ThePythonSelectionDecidesTheSame) {
    if (const auto why = test::why_no_python()) GTEST_SKIP() << *why;
    const auto cpp = decide(WEIR_EXAMPLE_LIBRARY);
    const auto python = decide(WEIR_EXAMPLE_PYTHON);
    expect_the_same(python, cpp);
}

TEST_F(Examples, TheSelectionInStepsRejectsAfterEachOfThem) {
    const auto decisions = decide(WEIR_STEPS_LIBRARY);
    ASSERT_EQ(decisions.size(), 10U);
    std::map<std::size_t, std::vector<std::size_t>> rejected_after;  // steps -> events
    std::vector<std::size_t> accepted;
    for (std::size_t i = 0; i < decisions.size(); ++i)
        (decisions[i].accepted ? accepted : rejected_after[decisions[i].level2_words.size()]).push_back(i + 1);
    EXPECT_EQ(rejected_after[1], (std::vector<std::size_t>{4, 7, 9}));
    EXPECT_EQ(rejected_after[2], (std::vector<std::size_t>{1, 10}));
    EXPECT_EQ(rejected_after[3], (std::vector<std::size_t>{2, 6}));
    EXPECT_EQ(accepted, (std::vector<std::size_t>{3, 5, 8}));
    EXPECT_EQ(decisions[4].level2_words, (std::vector<std::uint32_t>{71, 285, 172}));
    ASSERT_EQ(decisions[4].tags.size(), 2U);
    EXPECT_EQ(decisions[4].tags[1].robs.size(), 4U);
}

TEST_F(Examples, TheSelectionInStepsInPythonDecidesTheSame) {
    if (const auto why = test::why_no_python()) GTEST_SKIP() << *why;
    expect_the_same(decide(WEIR_STEPS_PYTHON), decide(WEIR_STEPS_LIBRARY));
}

TEST(RegionsExample, NamesTheSourcesOfTheSectorsInTheLevel1Words) {
    const auto rule = load_region_rule(WEIR_REGIONS_LIBRARY);
    ASSERT_TRUE(rule) << rule.error().message();
    std::vector<SourceId> sources;
    ASSERT_TRUE((*rule)({.level1_words = {0b0110}}, sources));
    EXPECT_EQ(sources,
              (std::vector<SourceId>{SourceId{0xa10002}, SourceId{0xa10003}, SourceId{0xa10004}, SourceId{0xa10005},
                                     SourceId{0xa30002}, SourceId{0xa30003}, SourceId{0xa30004}, SourceId{0xa30005}}));
    sources.clear();
    ASSERT_TRUE((*rule)({}, sources));
    EXPECT_TRUE(sources.empty());
}

}  // namespace
}  // namespace weir::selection
