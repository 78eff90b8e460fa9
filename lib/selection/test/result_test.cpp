// SPDX-License-Identifier: Apache-2.0
#include "weir/selection/result.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <memory>

#include "python_selections.hpp"
#include "sample_event.hpp"
#include "weir/selection/selector.hpp"
#include "weir/serial/object_head.hpp"
#include "weir/serial/reader.hpp"

namespace weir::selection::test {
struct Vertex {
    float x = 0, y = 0, z = 0;
    std::vector<int> hits{};
    bool operator==(const Vertex&) const = default;
};
struct Chain {
    std::shared_ptr<Chain> next{};
};
}  // namespace weir::selection::test

template <>
inline constexpr auto weir::serial::description<weir::selection::test::Vertex> =
    weir::serial::members("x", "y", "z", "hits");
template <>
inline constexpr auto weir::serial::description<weir::selection::test::Chain> = weir::serial::members("next");

namespace weir::selection {
namespace {

template <class T>
T read_back(const std::vector<std::byte>& result) {
    serial::Reader reader(result);
    auto object = reader.read_any<T>();
    EXPECT_TRUE(object) << object.error().message();
    EXPECT_TRUE(reader.at_end());
    return object && *object ? **object : T{};
}

TEST(Result, FindingsComeBackAsTheyWereSet) {
    Findings findings{.selection = "busy chamber"};
    findings.add("chamber_words", 405);
    findings.add("", std::numeric_limits<double>::denorm_min());
    Decision decision;
    decision.result.resize(7);
    set_result(decision, findings);
    EXPECT_TRUE(check_decision(decision));
    EXPECT_EQ(read_back<Findings>(decision.result), findings);
    EXPECT_EQ(serial::object_head(decision.result)->class_name, "weir::selection::Findings");
}

TEST(Result, AClassOfTheAuthorNeedsItsDescriptionOnly) {
    const test::Vertex vertex{1.5F, -2, 0, {4, 8}};
    Decision decision;
    set_result(decision, vertex);
    EXPECT_EQ(read_back<test::Vertex>(decision.result), vertex);
    EXPECT_EQ(serial::object_head(decision.result)->class_name, "weir::selection::test::Vertex");
}

TEST(Result, TooLargeOrTooDeepIsAnErrorOfTheSelection) {
    Decision large;
    set_result(large, Findings{.selection = std::string(Decision::result_max, 'x')});
    ASSERT_FALSE(check_decision(large));
    EXPECT_EQ(check_decision(large).error().code, Errc::limit);

    test::Chain deep;
    for (int i = 0; i < 1000; ++i) deep = {std::make_shared<test::Chain>(deep)};
    Decision decision;
    set_result(decision, deep);
    EXPECT_TRUE(decision.result.empty());
    const auto good = check_decision(decision);
    ASSERT_FALSE(good);
    EXPECT_NE(good.error().context.find("the result: "), std::string::npos) << good.error().context;
}

TEST(Result, IsFoundInTheWordsOfItsFragmentAndNowhereElse) {
    const std::uint32_t words[]{5, 0x04030201, 0x05};
    const auto bytes = std::as_bytes(std::span(words));
    const auto found = result_in(bytes);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->size(), 5U);
    EXPECT_EQ((*found)[4], std::byte{5});
    EXPECT_FALSE(result_in(bytes.first(8)));
    EXPECT_FALSE(result_in(bytes.first(3)));
    const std::uint32_t none[]{0};
    EXPECT_TRUE(result_in(std::as_bytes(std::span(none)))->empty());
}

class PythonResult : public testing::Test {
protected:
    void SetUp() override {
        if (const auto why = test::why_no_python()) GTEST_SKIP() << *why;
    }
    Judgement judge(const std::string& result) {
        const auto path = testing::TempDir() + "weir_result_test_" + std::to_string(::getpid()) + ".py";
        std::ofstream(path) << "import numpy\ndef select(event):\n    return {'accept': True, 'result': " << result
                            << "}\n";
        const auto selection = Selection::open({.selection = path});
        EXPECT_TRUE(selection) << selection.error().message();
        const test::SampleEvent sample;
        auto judgement = selection->make()->select(sample.event(1), {});
        std::remove(path.c_str());
        return judgement;
    }
};

TEST_F(PythonResult, ADictionaryOfNumbersBecomesFindings) {
    const auto judgement =
        judge("{'words': 405, 'Größe': -1e300, 'x' * 300: numpy.float32(0.5), 'busy': True, 'no': float('nan')}");
    ASSERT_EQ(judgement.trouble, Trouble::none) << judgement.why;
    const auto findings = read_back<Findings>(judgement.decision.result);
    EXPECT_EQ(findings.selection, "weir_result_test_" + std::to_string(::getpid()));
    ASSERT_EQ(findings.quantities.size(), 5U);
    EXPECT_EQ(findings.quantities[0], (Quantity{"words", 405}));
    EXPECT_EQ(findings.quantities[1], (Quantity{"Größe", -1e300}));
    EXPECT_EQ(findings.quantities[2], (Quantity{std::string(300, 'x'), 0.5}));
    EXPECT_EQ(findings.quantities[3], (Quantity{"busy", 1}));
    EXPECT_TRUE(std::isnan(findings.quantities[4].value));
    // The same bytes as set_result() makes: both write one form.
    Decision decision;
    set_result(decision, findings);
    EXPECT_EQ(judgement.decision.result, decision.result);
}

TEST_F(PythonResult, BytesStayBytesAndAnythingElseIsAnError) {
    EXPECT_EQ(judge("b'abc'").decision.result.size(), 3U);
    for (const auto* wrong : {"{'a': 'text'}", "{1: 2}", "'text'", "{'a': [1, 2]}"}) {
        const auto judgement = judge(wrong);
        EXPECT_EQ(judgement.trouble, Trouble::threw) << wrong;
        EXPECT_NE(judgement.why.find("TypeError"), std::string::npos) << judgement.why;
    }
}

}  // namespace
}  // namespace weir::selection
