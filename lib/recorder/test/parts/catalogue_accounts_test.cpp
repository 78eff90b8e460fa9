// SPDX-License-Identifier: Apache-2.0
#include "accounts/catalogue_accounts.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "answers.hpp"
#include "weir/recorder/testing/recording_fixture.hpp"

namespace weir::recorder {
namespace {

using namespace std::chrono_literals;

class CatalogueAccountsTest : public testing::RecordingFixture {
protected:
    CatalogueAccountsTest() {
        static_cast<void>(
            catalogue_->open_run({.run = run_, .recorder = "test", .mode = "receipt", .relaxations = ""}).value());
        settlement_.begin_run(run_, 0, {});
    }

    void reject(wire::RejectReason reason) {
        const std::array<Ledger*, 1> ledgers{&ledger_};
        delivery::CreditHold credit;
        settlement_.not_passed_on({}, GlobalEventId{99}, ledgers, reason, credit);
        ++rejected_[wire::name(reason)];
    }
    void commit() {
        auto round = settlement_.held().take();
        settlement_.answer(round);
    }
    std::map<std::string, std::uint64_t> rejected_in_catalogue() {
        const auto rows = catalogue_->ledgers(run_).value();
        return rows.empty() ? std::map<std::string, std::uint64_t>{} : rows.front().rejected;
    }
    std::vector<std::string> step_after(std::chrono::nanoseconds time) {
        time_.advance(time);
        accounts_.step(time_.now());
        return std::exchange(lines_, {});
    }

    const RunNumber run_{17};
    const std::unique_ptr<catalogue::Catalogue> catalogue_ =
        catalogue::open_sqlite_catalogue(directory_ / "accounts.db").value();
    ManualClock time_;
    Answers answers_;
    std::vector<std::string> lines_;
    OperatorReports reports_{[this](const Report& report) { lines_.push_back(text_of(report)); }};
    Settlement settlement_{
        {.recorder = "test", .copies_in_hand_max = 100, .unique_memory_max = 1_MiB}, answers_, reports_};
    LumiBlocks blocks_{1s};
    Ledger ledger_{"physics", "Main"};
    std::map<std::string, std::uint64_t> rejected_;
    CatalogueAccounts accounts_{run_,
                                "test",
                                *catalogue_,
                                settlement_,
                                blocks_,
                                {.ledgers = [this] { return std::vector<const Ledger*>{&ledger_}; },
                                 .events_rejected = [this] { return rejected_; }},
                                reports_,
                                time_};
};

using Rejected = std::map<std::string, std::uint64_t>;

TEST_F(CatalogueAccountsTest, RejectedCopiesComeIntoTheLedgerOnceASecondWhenTheyAreInAJournal) {
    static_cast<void>(step_after(10s));
    reject(wire::RejectReason::late);
    static_cast<void>(step_after(1s));
    EXPECT_EQ(rejected_in_catalogue(), Rejected{});  // no journal has it
    commit();
    static_cast<void>(step_after(999ms));
    EXPECT_EQ(rejected_in_catalogue(), Rejected{});
    static_cast<void>(step_after(1ms));
    EXPECT_EQ(rejected_in_catalogue(), (Rejected{{"late", 1}}));
    reject(wire::RejectReason::late);
    commit();
    EXPECT_TRUE(accounts_.write_ledger().has_value());
    EXPECT_EQ(rejected_in_catalogue(), (Rejected{{"late", 2}}));
}

TEST_F(CatalogueAccountsTest, RejectionsAreReportedInOneLineEveryTenSecondsButNotDuplicates) {
    EXPECT_EQ(step_after(10s).size(), 0U);
    reject(wire::RejectReason::duplicate);
    EXPECT_EQ(step_after(1s).size(), 0U);
    reject(wire::RejectReason::late);
    const auto lines = step_after(1s);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_TRUE(lines.front().starts_with("run 17: 1 events were rejected (late 1), the last with global id 99"))
        << lines.front();
    reject(wire::RejectReason::late);
    EXPECT_EQ(step_after(9s).size(), 0U);
    EXPECT_EQ(step_after(1s).size(), 1U);
    EXPECT_EQ(step_after(100s).size(), 0U);
}

}  // namespace
}  // namespace weir::recorder
