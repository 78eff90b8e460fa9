// SPDX-License-Identifier: Apache-2.0
#include "weir/service/reports.hpp"

#include <gmock/gmock.h>

#include <thread>

#include "weir/service/report_sinks.hpp"

namespace weir::service {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class KeepingSink final : public ReportSink {
public:
    explicit KeepingSink(std::vector<SubmittedReport>& kept) : kept_(kept) {}
    void show(const SubmittedReport& report) override {
        const std::lock_guard lock(mutex_);
        kept_.push_back(report);
    }

private:
    std::mutex mutex_;
    std::vector<SubmittedReport>& kept_;
};

class ReportsTest : public ::testing::Test {
protected:
    std::unique_ptr<Reports> make(ReportLimits limits = {}) {
        std::vector<std::unique_ptr<ReportSink>> sinks;
        sinks.push_back(std::make_unique<KeepingSink>(shown));
        sinks.push_back(counter_sink(metrics));
        return std::make_unique<Reports>("recorder-1", clock, std::move(sinks), limits);
    }

    static Report report(Severity severity, std::string what, std::string alarm = {}) {
        return {.severity = severity, .what = std::move(what), .alarm = std::move(alarm)};
    }

    ManualClock clock;
    Metrics metrics;
    std::vector<SubmittedReport> shown;
};

TEST_F(ReportsTest, SayWhatWhereWhyAndWhatToDoInOneLine) {
    SubmittedReport full{report_of(Severity::error, "file quarantined", Error{Errc::io, EIO, "cannot sync"})};
    full.where = "/data/1/a.data";
    full.advice = "replace the disk";
    full.causes = {"write failed", "disk is dying"};
    full.who = "recorder-1";
    full.held_back = 17;
    EXPECT_EQ(one_line(full),
              "error recorder-1: file quarantined: /data/1/a.data: cannot sync: Input/output error; replace the "
              "disk (caused by: write failed, by: disk is dying) [17 more held back]");
}

TEST_F(ReportsTest, NothingFromOutsideStartsALineOfItsOwn) {
    SubmittedReport hostile{report(Severity::warning, "bad sender\nfatal recorder-1: all is lost\r\x1b[31m")};
    hostile.why = std::string(100'000, 'x');
    hostile.causes.assign(1000, "again");
    const auto line = one_line(hostile);
    EXPECT_THAT(line, Not(HasSubstr("\n")));
    EXPECT_THAT(line, Not(HasSubstr("\x1b")));
    EXPECT_THAT(line, HasSubstr("bad sender\\nfatal"));
    EXPECT_THAT(line, HasSubstr("and 992 more"));
    EXPECT_LT(line.size(), 2000U);
}

TEST_F(ReportsTest, CarryWhoAndWhen) {
    make()->submit(report(Severity::information, "started"));
    ASSERT_EQ(shown.size(), 1U);
    EXPECT_EQ(shown[0].who, "recorder-1");
    EXPECT_EQ(shown[0].when, clock.wall());
}

TEST_F(ReportsTest, ARepeatedOneIsHeldBackAndTheNextSaysHowMany) {
    auto reports = make({.burst = 2, .window = 10s});
    for (int i = 0; i < 7; ++i) reports->submit(report(Severity::error, "disk slow"));
    reports->submit(report(Severity::error, "another thing"));
    EXPECT_EQ(shown.size(), 3U);
    clock.advance(10s);
    reports->submit(report(Severity::error, "disk slow"));
    ASSERT_EQ(shown.size(), 4U);
    EXPECT_EQ(shown[3].held_back, 5U);
}

TEST_F(ReportsTest, WhatWasHeldBackIsSaidWhenItsWindowEndsOrAtTheEnd) {
    auto reports = make({.burst = 1, .window = 10s});
    for (int i = 0; i < 4; ++i) reports->submit(report(Severity::error, "disk slow"));
    reports->step();
    EXPECT_EQ(shown.size(), 1U);
    clock.advance(10s);
    reports->step();
    ASSERT_EQ(shown.size(), 2U);
    EXPECT_EQ(shown[1].what, "disk slow");
    EXPECT_EQ(shown[1].held_back, 2U);
    reports->submit(report(Severity::error, "disk slow"));
    reports.reset();
    ASSERT_EQ(shown.size(), 3U);
    EXPECT_EQ(shown[2].held_back, 0U);
}

TEST_F(ReportsTest, FatalOnesAreAlwaysShown) {
    auto reports = make({.burst = 1});
    for (int i = 0; i < 3; ++i) reports->submit(report(Severity::fatal, "cannot go on"));
    EXPECT_EQ(shown.size(), 3U);
}

TEST_F(ReportsTest, EveryOneIsCountedShownOrHeldBackAndNoneTwice) {
    {
        auto reports = make({.burst = 2});
        for (int i = 0; i < 7; ++i) reports->submit(report(Severity::warning, "late event"));
    }
    const auto text = metrics.text();
    EXPECT_THAT(text, HasSubstr("weir_reports_total{severity=\"warning\",shown=\"yes\"} 2\n"));
    EXPECT_THAT(text, HasSubstr("weir_reports_total{severity=\"warning\",shown=\"no\"} 5\n"));
}

TEST_F(ReportsTest, KeysThatNeverRepeatDoNotFillTheMemoryAndStayLimited) {
    auto reports = make({.burst = 1, .window = 10s, .keys_max = 10});
    for (int i = 0; i < 1000; ++i) reports->submit(report(Severity::error, "peer " + std::to_string(i)));
    EXPECT_EQ(shown.size(), 11U);  // ten keys, and one for all others
    clock.advance(10s);
    reports->submit(report(Severity::error, "peer 5000"));  // quiet keys are erased
    EXPECT_EQ(shown.back().what, "peer 5000");
}

TEST_F(ReportsTest, AnAlarmStaysUntilSomebodyAcknowledgesItByName) {
    auto reports = make();
    reports->submit(report(Severity::error, "file quarantined", "quarantine /data/1/a"));
    clock.advance(1s);
    reports->submit(report(Severity::error, "file quarantined again", "quarantine /data/1/a"));
    ASSERT_EQ(reports->latched(), 1U);
    const auto alarm = reports->alarms().at(0);
    EXPECT_EQ(alarm.raised, 2U);
    EXPECT_EQ(alarm.report.what, "file quarantined again");
    EXPECT_EQ(alarm.last - alarm.first, 1s);
    EXPECT_FALSE(alarm.acknowledged_by.has_value());

    EXPECT_FALSE(reports->acknowledge("quarantine /data/1/b", "Ada"));
    EXPECT_FALSE(reports->acknowledge("quarantine /data/1/a", ""));
    EXPECT_TRUE(reports->acknowledge("quarantine /data/1/a", "Ada"));
    EXPECT_FALSE(reports->acknowledge("quarantine /data/1/a", "Grace"));
    EXPECT_EQ(reports->latched(), 0U);
    EXPECT_EQ(reports->alarms().at(0).acknowledged_by, "Ada");
    EXPECT_THAT(one_line(shown.back()), HasSubstr("alarm acknowledged: quarantine /data/1/a: by Ada, raised 2 times"));

    reports->submit(report(Severity::error, "file quarantined", "quarantine /data/1/a"));
    EXPECT_EQ(reports->latched(), 1U);
    EXPECT_EQ(reports->alarms().at(0).raised, 1U);
}

TEST_F(ReportsTest, WhatComesThroughAReporterIsReportedAndLatched) {
    auto reports = make();
    const auto report = reports->reporter();
    report.warning("clock is slow");
    report.alarm("disk\nfull", "/data/1 has no space");
    ASSERT_EQ(shown.size(), 2U);
    EXPECT_EQ(one_line(shown[0]), "warning recorder-1: clock is slow");
    EXPECT_EQ(one_line(shown[1]), "error recorder-1: ALARM disk\\nfull: /data/1 has no space");
    ASSERT_EQ(reports->latched(), 1U);
    EXPECT_EQ(reports->alarms().at(0).name, "disk\\nfull");
}

TEST_F(ReportsTest, AlarmsBeyondTheLimitGatherUnderOneNameAndNoLatchedOneIsLost) {
    auto reports = make({.alarms_max = 3});
    for (const char* alarm : {"a", "b", "c", "d"}) reports->submit(report(Severity::error, alarm, alarm));
    const auto alarms = reports->alarms();
    ASSERT_EQ(alarms.size(), 3U);
    EXPECT_EQ(alarms[0].name, "a");
    EXPECT_EQ(alarms[1].name, "b");
    EXPECT_EQ(alarms[2].name, "more-alarms");
    EXPECT_EQ(alarms[2].raised, 2U);
    EXPECT_TRUE(reports->acknowledge("a", "Ada"));
    reports->submit(report(Severity::error, "e", "e"));  // takes the place of the acknowledged one
    EXPECT_EQ(reports->latched(), 3U);
    EXPECT_TRUE(reports->acknowledge("e", "Ada"));
}

TEST_F(ReportsTest, ComeFromManyThreads) {
    constexpr int each = 500;
    {
        auto reports = make({.burst = 1'000'000});
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&, t] {
                for (int i = 0; i < each; ++i)
                    reports->submit(report(Severity::error, "x", "alarm " + std::to_string(t)));
                EXPECT_TRUE(reports->acknowledge("alarm " + std::to_string(t), "Ada"));
            });
        }
        threads.clear();
        EXPECT_EQ(reports->latched(), 0U);
    }
    EXPECT_EQ(shown.size(), 4U * (each + 1));
}

TEST_F(ReportsTest, TheLogIsOneLineOnStderrWithTheTime) {
    testing::internal::CaptureStderr();
    {
        std::vector<std::unique_ptr<ReportSink>> sinks;
        sinks.push_back(log_sink());
        Reports reports("recorder-1", clock, std::move(sinks));
        reports.submit(report(Severity::warning, "odd {} name\n%v"));
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "2023-11-14T22:13:20.000Z warning recorder-1: odd {} name\\n%v\n");
}

}  // namespace
}  // namespace weir::service
