// SPDX-License-Identifier: Apache-2.0
#include "hosts/host_messages.hpp"

#include <gmock/gmock.h>

#include "weir/json/parse.hpp"

namespace weir::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Commander who{7, "ctl:/data (pid 1)", true};

TEST(HostMessagesTest, AnOrderIsReadAsItWasWritten) {
    const ProcessOrder order{
        who, "ros-1", 12, {"weir", "readout", "partition.toml", "--name", "ros-1"}, "[data]\n# a\n"};
    const auto read = parse_process_order(to_json(order));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->commander.epoch, 7U);
    EXPECT_TRUE(read->commander.take_over);
    EXPECT_EQ(read->name, "ros-1");
    EXPECT_EQ(read->generation, 12U);
    EXPECT_EQ(read->arguments, order.arguments);
    EXPECT_EQ(read->partition, order.partition);
}

TEST(HostMessagesTest, OnlyStationsAreStarted) {
    for (const auto& arguments : {std::vector<std::string>{"sh", "readout"}, {"weir", "run"}, {"weir"}, {}}) {
        const auto read = parse_process_order(to_json(ProcessOrder{who, "ros-1", 12, arguments, ""}));
        ASSERT_FALSE(read);
        EXPECT_THAT(read.error().message(), HasSubstr("do not start a station"));
    }
    EXPECT_FALSE(parse_process_order(to_json(ProcessOrder{who, "../x", 12, {"weir", "readout"}, ""})));
    EXPECT_FALSE(
        parse_process_order(to_json(ProcessOrder{who, "ros-1", 12, {"weir", "readout", std::string("a\0b", 3)}, ""})));
}

TEST(HostMessagesTest, APollIsReadAsItWasWritten) {
    const auto read =
        parse_host_poll(to_json(HostPoll{who, 3, 99, 1'795'746'520'030'000'003, {5, 1'795'746'520'030'000'003}}));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->number, 3U);
    EXPECT_EQ(read->log_after, 99U);
    EXPECT_EQ(read->generation_last, 1'795'746'520'030'000'003U);
    EXPECT_THAT(read->kept, ElementsAre(5U, 1'795'746'520'030'000'003U));
    EXPECT_FALSE(read->last);
    EXPECT_TRUE(parse_host_poll(to_json(HostPoll{who, 4, 99, 0, {}, true}))->last);
    const auto to_one = parse_host_poll(to_json(HostPoll{who, 4, 99, 0, {}, false, "worker-1", "36D87C26"}));
    EXPECT_EQ(to_one->machine, "worker-1");
    EXPECT_EQ(to_one->instance, "36D87C26");
}

TEST(HostMessagesTest, APollThatDoesNotSayWhatIsKeptEndsNothing) {
    const auto read =
        parse_host_poll(R"({"commander":{"epoch":7,"name":"a"},"number":1,"log_after":0,"generation_last":9})");
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().message(), HasSubstr("kept"));
}

TEST(HostMessagesTest, AReportIsReadAsItWasWritten) {
    service::StationReport station;
    station.station = "ros-1";
    station.status.ledger.received = 17;
    const auto status = json::parse(to_json(station));
    ASSERT_TRUE(status);
    HostReport report;
    report.host = "h1";
    report.weir = WEIR_VERSION;
    report.instance = "ab";
    report.commander = who;
    report.commander_silent = 0.5;
    report.log_last = 8;
    report.log = {{8, {}, "ros-1", "error ros-1: \x01 bad"}};
    HostedStatus up;
    up.name = "ros-1";
    up.generation = 12;
    up.pid = 4711;
    up.announcement = R"({"station":"ros-1"})";
    up.asked_in = 3;
    up.report_json = std::make_shared<const boost::json::object>(status->get_object());
    HostedStatus gone;
    gone.name = "sfi-1";
    gone.end = ProcessEnd{0, 9, {}};
    report.processes = {up, gone};
    const auto read = parse_host_report(to_json(report));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->host, "h1");
    ASSERT_TRUE(read->commander);
    EXPECT_EQ(read->commander->name, who.name);
    ASSERT_EQ(read->processes.size(), 2U);
    EXPECT_EQ(read->processes[0].announcement, up.announcement);
    EXPECT_EQ(read->processes[0].asked_in, 3U);
    ASSERT_TRUE(read->processes[0].report);
    EXPECT_EQ(read->processes[0].report->status.ledger.received, 17U);
    ASSERT_TRUE(read->processes[1].end);
    EXPECT_EQ(read->processes[1].end->signal, 9);
    ASSERT_EQ(read->log.size(), 1U);
    EXPECT_EQ(read->log[0].text, R"(error ros-1: \x01 bad)");
}

}  // namespace
}  // namespace weir::control
