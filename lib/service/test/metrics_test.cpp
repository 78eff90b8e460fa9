// SPDX-License-Identifier: Apache-2.0
#include "weir/service/metrics.hpp"

#include <gmock/gmock.h>
#include <sys/timex.h>

#include <thread>

#include "weir/base/utf8.hpp"
#include "weir/service/clock_metrics.hpp"

namespace weir::service {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Metrics, AreWrittenInPrometheusText) {
    Metrics metrics;
    metrics.counter("weir_events_total", "Events received", {{"stream", "Main"}}).add(3);
    const auto collection =
        metrics.collect([](MetricSink& sink) { sink.gauge("weir_queue_bytes", "Bytes waiting", {}, 1.5); });
    const auto text = metrics.text();
    EXPECT_THAT(text, HasSubstr("# HELP weir_events_total Events received\n# TYPE weir_events_total counter\n"
                                "weir_events_total{stream=\"Main\"} 3\n"));
    EXPECT_THAT(text, HasSubstr("# TYPE weir_queue_bytes gauge\nweir_queue_bytes 1.5\n"));
}

TEST(Metrics, TheSameNameAndLabelsAreTheSameCounter) {
    Metrics metrics;
    auto& a = metrics.counter("weir_a_total", "A", {{"x", "1"}});
    auto& b = metrics.counter("weir_a_total", "A", {{"x", "2"}});
    EXPECT_EQ(&metrics.counter("weir_a_total", "A", {{"x", "1"}}), &a);
    EXPECT_NE(&a, &b);
}

TEST(Metrics, CollectedValuesAreAskedForAtEachScrapeWhileTheCollectionLives) {
    Metrics metrics;
    double value = 1;
    {
        const auto collection = metrics.collect([&](MetricSink& sink) {
            sink.gauge("weir_open_files", "Files that are open", {}, value);
            sink.counter("weir_bytes_total", "Bytes", {{"volume", "/a"}}, 10 * value);
        });
        EXPECT_THAT(metrics.text(), HasSubstr("weir_open_files 1\n"));
        value = 2;
        EXPECT_THAT(metrics.text(), HasSubstr("weir_open_files 2\n"));
        EXPECT_THAT(metrics.text(), HasSubstr("weir_bytes_total{volume=\"/a\"} 20\n"));
    }
    EXPECT_THAT(metrics.text(), testing::Not(testing::HasSubstr("weir_open_files")));
}

TEST(Metrics, PartsThatReportTheSameNameAreSummed) {
    Metrics metrics;
    const auto report = [](MetricSink& sink) { sink.counter("weir_x_total", "X", {}, 2); };
    const auto one = metrics.collect(report);
    const auto two = metrics.collect(report);
    EXPECT_THAT(metrics.text(), HasSubstr("weir_x_total 4\n"));
}

TEST(Metrics, HowWellTheClockIsKeptIsWhatTheKernelSays) {
    Metrics metrics;
    const auto clock = collect_clock(metrics);
    struct ::timex kept{};
    ASSERT_GE(::adjtimex(&kept), 0);
    EXPECT_THAT(metrics.text(), HasSubstr(std::string("\nweir_clock_synchronized ") +
                                          ((kept.status & STA_UNSYNC) == 0 ? "1" : "0") + "\n"));
    EXPECT_THAT(metrics.text(), HasSubstr("\nweir_clock_offset_seconds "));
    EXPECT_THAT(metrics.text(), HasSubstr("\nweir_clock_error_max_seconds "));
}

TEST(Metrics, ACollectionMayOutliveItsMetrics) {
    Metrics::Collection collection;
    {
        Metrics metrics;
        collection = metrics.collect([](MetricSink&) {});
    }
    collection = {};
}

TEST(Metrics, HostileLabelsNeitherBreakTheFormatNorTheScrape) {
    Metrics metrics;
    metrics.counter("weir_a_total", "A", {{"sender", "x\"} 1\nweir_fake 7\n\\ \xff\xed\xa0\x80 \xc3\xa9"}}).add();
    const auto text = metrics.text();
    EXPECT_THAT(text, Not(HasSubstr("\nweir_fake")));
    EXPECT_THAT(text, HasSubstr("x\\\"} 1\\nweir_fake 7\\n\\\\ "));
    EXPECT_EQ(valid_utf8(text), text);
    EXPECT_THAT(text, HasSubstr("\xc3\xa9"));
}

TEST(Metrics, UnboundedLabelsShareOneSetBeyondTheLimit) {
    Metrics metrics(2);
    for (int i = 0; i < 5; ++i) metrics.counter("weir_a_total", "A", {{"sender", std::to_string(i)}}).add();
    const auto collection = metrics.collect([](MetricSink& sink) {
        for (int i = 0; i < 5; ++i) sink.gauge("weir_b", "B", {{"sender", std::to_string(i)}}, 1);
    });
    const auto text = metrics.text();
    EXPECT_THAT(text, HasSubstr("weir_a_total{sender=\"1\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("weir_a_total{sender=\"_other\"} 3\n"));
    EXPECT_THAT(text, HasSubstr("weir_b{sender=\"_other\"} 3\n"));
}

TEST(Metrics, CountersLoseNothingBetweenThreadsWhileBeingScraped) {
    Metrics metrics;
    auto& counter = metrics.counter("weir_a_total", "A");
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&] {
                for (int i = 0; i < 10'000; ++i) counter.add();
            });
        }
        for (int i = 0; i < 20; ++i) EXPECT_FALSE(metrics.text().empty());
    }
    EXPECT_EQ(counter.value(), 40'000U);
}

}  // namespace
}  // namespace weir::service
