// SPDX-License-Identifier: Apache-2.0
#include "run/session/run_report.hpp"

#include <gmock/gmock.h>

namespace weir::app {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

std::string printed(const control::RunResult& result) {
    testing::internal::CaptureStdout();
    print_result(result, "D");
    std::fflush(stdout);
    return testing::internal::GetCapturedStdout();
}

TEST(RunReport, ARunThatRefusedTriggersIsGoodAndIsNotSaidToBeAllWell) {
    control::RunResult result;
    result.events.triggers = 3000;
    EXPECT_THAT(printed(result), EndsWith("\nall well: every ledger balances\n"));
    result.triggers.doubled = {.triggers = 2000};
    const auto text = printed(result);
    EXPECT_THAT(text, HasSubstr("\ntriggers  2000 doubled\n"));
    EXPECT_THAT(text, EndsWith("\ngood, but 2,000 triggers were refused (above): every ledger balances\n"));
    EXPECT_THAT(text, Not(HasSubstr("all well")));
    result.triggers.doubled = {};
    result.triggers.out_of_order = {.triggers = 1};
    EXPECT_THAT(printed(result), EndsWith("\ngood, but 1 trigger was refused (above): every ledger balances\n"));
    result.problems.push_back("something");
    EXPECT_THAT(printed(result), EndsWith("\nNOT ALL WELL\n  something\n"));
}

TEST(AlarmsText, HasSeverityStationAndNameOfEachAlarmOnce) {
    const json::array alarms{{{"station", "rec-1"},
                              {"name", "disk full: /d"},
                              {"severity", "error"},
                              {"text", "error rec-1: ALARM disk full: /d: no space"},
                              {"latched", true}},
                             {{"station", "run"},
                              {"name", "notifier chat fails"},
                              {"severity", "warning"},
                              {"text", "notifier chat fails: http://x: 500"},
                              {"latched", true}},
                             {{"station", "ef-1"}, {"name", "old"}, {"text", "old"}, {"latched", false}}};
    EXPECT_EQ(alarms_text(alarms),
              "\nALARM error rec-1: disk full: /d: no space\n"
              "ALARM warning run: notifier chat fails: http://x: 500\n");
    EXPECT_EQ(alarms_text({}), "");
}

}  // namespace
}  // namespace weir::app
