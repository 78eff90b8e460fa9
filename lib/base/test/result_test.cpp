// SPDX-License-Identifier: Apache-2.0
// WEIR_TRY: values come out of a Result, errors go on to the caller, and nothing of the Result remains.
#include "weir/base/result.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir {
namespace {

Result<> nothing_or(bool fails) {
    if (fails) return fail(Errc::limit, "nothing more fits");
    return {};
}

Result<std::unique_ptr<int>> number_or(bool fails) {
    if (fails) return fail_errno(ENOSPC, "write a number");
    return std::make_unique<int>(7);
}

/// Counts how often it is copied, and how many exist.
struct Counted {
    explicit Counted(int& alive_in, int& copies_in) : alive(&alive_in), copies(&copies_in) { ++*alive; }
    Counted(const Counted& other) : alive(other.alive), copies(other.copies) { ++*alive, ++*copies; }
    Counted(Counted&& other) noexcept : alive(other.alive), copies(other.copies) { ++*alive; }
    Counted& operator=(const Counted&) = delete;
    ~Counted() { --*alive; }
    int* alive;
    int* copies;
};

TEST(Try, AValueIsMovedOutAndTheFunctionGoesOn) {
    const auto sum = []() -> Result<int> {
        auto first = WEIR_TRY(number_or(false));
        const auto second = WEIR_TRY(number_or(false));
        return *first + *second;
    };
    EXPECT_EQ(sum().value(), 14);
}

TEST(Try, AnErrorIsReturnedWholeAndNothingBehindItRuns) {
    bool reached = false;
    const auto number = [&]() -> Result<std::string> {
        auto value = WEIR_TRY(number_or(true));
        reached = true;
        return std::to_string(*value);
    };
    const auto failed = number();
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, Errc::io);
    EXPECT_EQ(failed.error().os_errno, ENOSPC);
    EXPECT_EQ(failed.error().context, "write a number");
    EXPECT_FALSE(reached);
}

TEST(Try, AloneItServesAResultWithoutAValueAndOneWhoseValueIsNotNeeded) {
    const auto steps = [](bool first, bool second) -> Result<> {
        WEIR_TRY(nothing_or(first));
        WEIR_TRY(number_or(second));
        return {};
    };
    EXPECT_TRUE(steps(false, false));
    EXPECT_EQ(steps(true, true).error().code, Errc::limit);
    EXPECT_EQ(steps(false, true).error().code, Errc::io);
}

TEST(Try, IsOneStatementUnderIfAndElse) {
    const auto either = [](bool which) -> Result<int> {
        if (which) WEIR_TRY(nothing_or(true));
        else WEIR_TRY(number_or(true));
        return 1;
    };
    EXPECT_EQ(either(true).error().code, Errc::limit);
    EXPECT_EQ(either(false).error().code, Errc::io);
}

TEST(Try, AssignsAndTakesAnExpressionWithCommas) {
    const auto filled = []() -> Result<std::optional<std::vector<int>>> {
        std::optional<std::vector<int>> numbers;
        numbers = WEIR_TRY(Result<std::vector<int>>{std::vector<int>{1, 2, 3}});
        return numbers;
    };
    EXPECT_EQ(filled().value(), (std::vector<int>{1, 2, 3}));
}

TEST(Try, CopiesNoValueAndLeavesNoneBehind) {
    int alive = 0;
    int copies = 0;
    const auto counted = [&]() -> Result<> {
        const auto value = WEIR_TRY(Result<Counted>(std::in_place, alive, copies));
        EXPECT_EQ(alive, 1);  // the Result is gone
        EXPECT_EQ(value.alive, &alive);
        return {};
    };
    EXPECT_TRUE(counted());
    EXPECT_EQ(alive, 0);
    EXPECT_EQ(copies, 0);
    const auto refused = [&]() -> Result<> {
        const Counted before(alive, copies);
        WEIR_TRY(Result<Counted>(std::in_place, alive, copies));
        EXPECT_EQ(alive, 1);
        const auto value = WEIR_TRY(Result<Counted>(fail(Errc::refused, "no")));
        return nothing_or(value.alive == nullptr);
    };
    EXPECT_EQ(refused().error().code, Errc::refused);
    EXPECT_EQ(alive, 0);  // a return out of the middle destroys what the function had
    EXPECT_EQ(copies, 0);
}

/// An std::expected with an error of its own is handed on as well.
enum class Why { early, late };

TEST(Try, AnErrorTypeOfYourOwnIsHandedOnToo) {
    const auto answer = [](Why why) -> std::expected<int, Why> { return std::unexpected(why); };
    const auto passed = [&](Why why) -> std::expected<std::string, Why> {
        const auto value = WEIR_TRY(answer(why));
        return std::to_string(value);
    };
    EXPECT_EQ(passed(Why::late).error(), Why::late);
}

}  // namespace
}  // namespace weir
