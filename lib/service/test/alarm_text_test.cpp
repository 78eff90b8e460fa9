// SPDX-License-Identifier: Apache-2.0
#include "weir/service/alarm_text.hpp"

#include <gtest/gtest.h>

namespace weir::service {
namespace {

TEST(AlarmTextTest, DoesNotRepeatTheStationTheSeverityAndTheName) {
    EXPECT_EQ(alarm_text("disk full: /data", "error rec-1: ALARM disk full: /data: no space; make room"),
              "no space; make room");
    EXPECT_EQ(alarm_text("monitor_threw", "error bad: monitor threw: ValueError"), "ValueError");
    EXPECT_EQ(alarm_text("notifier chat fails", "notifier chat fails: http://x: 500"), "http://x: 500");
    EXPECT_EQ(alarm_text("notifier chat fails", "notifier chat fails"), "");
    EXPECT_EQ(alarm_text("catalogue", "ALARM catalogue: locked"), "locked");
}

TEST(AlarmTextTest, IsLeftAsItIsWhereItDoesNotBeginWithThem) {
    for (const auto* text : {"", "no space", "ALARM of another: no space", "catalogues: locked", "errors rec-1: x"})
        EXPECT_EQ(alarm_text("catalogue", text), text);
    EXPECT_EQ(alarm_text("", "error rec-1: no space"), "no space");
    EXPECT_EQ(alarm_text("ef-1 died", "information run: ef-2 died: signal 9"), "ef-2 died: signal 9");
}

}  // namespace
}  // namespace weir::service
