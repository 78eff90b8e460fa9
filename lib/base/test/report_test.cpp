// SPDX-License-Identifier: Apache-2.0
#include "weir/base/report.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace weir {
namespace {

TEST(Report, ASeverityIsReadBackFromItsName) {
    for (const auto severity : {Severity::information, Severity::warning, Severity::error, Severity::fatal})
        EXPECT_EQ(parse_severity(name(severity)), severity);
    EXPECT_FALSE(parse_severity("Error"));
    EXPECT_FALSE(parse_severity(""));
}

TEST(Report, AFailureBecomesTheReasonOfItsReport) {
    const auto report = report_of(Severity::warning, "file not closed", Error{Errc::io, EIO, "cannot sync /data/1/a"});
    EXPECT_EQ(report.severity, Severity::warning);
    EXPECT_EQ(text_of(report), "file not closed: cannot sync /data/1/a: Input/output error");
    EXPECT_TRUE(report.alarm.empty());
}

TEST(Report, ItsTextHasEveryPartOnceAndIsOneLine) {
    const Report report{.severity = Severity::error,
                        .what = "file\nquarantined",
                        .where = "/data/1/a\x1b[31m",
                        .why = "other bytes",
                        .advice = "look at the disk"};
    EXPECT_EQ(text_of(report), "file\\nquarantined: /data/1/a\\x1b[31m: other bytes; look at the disk");
    EXPECT_EQ(text_of({.what = "started"}), "started");
    EXPECT_EQ(on_one_line("0123456789", 4), "0123...");
}

TEST(Reporter, WhatIsReportedGoesWhereItWasMadeToGoAlsoFromACopy) {
    std::vector<Report> reports;
    const Reporter report([&](Report one) { reports.push_back(std::move(one)); });
    const Reporter copy = report;
    report.warning("first");
    copy.alarm("disk full", "/data/1 has no space");
    copy({.severity = Severity::fatal, .what = "third"});
    ASSERT_EQ(reports.size(), 3U);
    EXPECT_EQ(reports[0].severity, Severity::warning);
    EXPECT_EQ(reports[1].alarm, "disk full");
    EXPECT_EQ(reports[1].severity, Severity::error);
    EXPECT_EQ(text_of(reports[1]), "ALARM disk full: /data/1 has no space");
    EXPECT_EQ(reports[2].what, "third");
}

TEST(Reporter, AnEmptyOneDiscardsItsReports) {
    const Reporter empty;
    empty.error("discarded");
    empty.alarm("name", "why");
}

}  // namespace
}  // namespace weir
