// SPDX-License-Identifier: Apache-2.0
#include "weir/service/log_output.hpp"

#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "weir/json/parse.hpp"
#include "weir/service/report_sinks.hpp"

namespace weir::service {
namespace {

using namespace std::literals;
using testing::HasSubstr;

const WallTime moment = WallTime{std::chrono::seconds{1'700'000'000}} + 123ms;
constexpr std::string_view moment_text = "2023-11-14T22:13:20.123Z";

/// What journald is for a program: a socket for datagrams, and a stderr that is known by device and number.
class JournalSocket {
public:
    JournalSocket() {
        std::string pattern = (std::filesystem::temp_directory_path() / "weir-journal-XXXXXX").native();
        folder = ::mkdtemp(pattern.data());
        path = folder / "socket";
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
        socket = Descriptor(::socket(AF_UNIX, SOCK_DGRAM, 0));
        EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
        struct stat status{};
        EXPECT_EQ(::fstat(STDERR_FILENO, &status), 0);
        stream = std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
    }
    ~JournalSocket() { std::filesystem::remove_all(folder); }

    [[nodiscard]] std::string got() const {
        std::array<char, 65536> piece{};
        const auto size = ::recv(socket.get(), piece.data(), piece.size(), MSG_DONTWAIT);
        return size < 0 ? std::string("nothing") : std::string(piece.data(), static_cast<std::size_t>(size));
    }
    [[nodiscard]] LogOptions options() const {
        return {.partition = "testbeam", .journal_stream = stream.c_str(), .journal = path};
    }

    std::filesystem::path folder, path;
    Descriptor socket;
    std::string stream;
};

TEST(LogEntryTest, ALineOfAStationIsTakenApart) {
    const auto entry = parse_log_line("2023-11-14T22:13:20.123Z error rec-1: file quarantined: x: y", WallTime{});
    EXPECT_EQ(entry.when, moment);
    EXPECT_EQ(entry.severity, Severity::error);
    EXPECT_EQ(entry.station, "rec-1");
    EXPECT_EQ(entry.text, "file quarantined: x: y");
    EXPECT_EQ(log_line(entry), "2023-11-14T22:13:20.123Z error rec-1: file quarantined: x: y");
    const auto own = parse_log_line("warning run: odd", moment);
    EXPECT_EQ(log_line(own), "2023-11-14T22:13:20.123Z warning run: odd");
    EXPECT_EQ(log_line({.when = moment, .station = "ef-1", .text = "Segmentation fault"}),
              "2023-11-14T22:13:20.123Z information ef-1: Segmentation fault");
    EXPECT_EQ(own.when, moment);
    EXPECT_EQ(own.severity, Severity::warning);
    EXPECT_EQ(own.text, "odd");
}

TEST(LogEntryTest, WhatIsNoReportIsTextAsAWhole) {
    for (const auto* line : {"", " ", "terminate called: x", "error", "error rec-1", "error rec 1: x",
                             "errors rec-1: x", "2023-11-14T22:13:20.123Z", "2023-13-14T22:13:20.123Z error rec-1: x",
                             "2023-11-14T24:13:20.123Z error rec-1: x", ": error x: y"}) {
        const auto entry = parse_log_line(line, moment);
        EXPECT_EQ(entry.text, line);
        EXPECT_EQ(entry.severity, Severity::information);
        EXPECT_EQ(entry.when, moment);
    }
    EXPECT_EQ(parse_log_line("2023-11-14T22:13:20.123Z Segmentation fault", WallTime{}).text, "Segmentation fault");
}

TEST(LogEntryTest, ATimeIsReadAsItIsWritten) {
    EXPECT_EQ(log_time(moment), moment_text);
    EXPECT_EQ(parse_log_time(moment_text), moment);
    EXPECT_FALSE(parse_log_time("2023-11-14T22:13:20.123"));
    EXPECT_FALSE(parse_log_time("2023-02-30T22:13:20.123Z"));
    EXPECT_FALSE(parse_log_time("2023-11-14T22:13:20.12xZ"));
}

TEST(LogEntryTest, AsJsonItIsOneDocumentOnOneLineWhateverItHolds) {
    const auto line = json_line({moment, "p", "rec-1", RunNumber{17}, Severity::fatal, "a\n\"b\"\x1b\xff"});
    EXPECT_EQ(line.find('\n'), line.npos);
    const auto document = json::parse(line);
    ASSERT_TRUE(document) << line;
    EXPECT_EQ(document->at("time").as_string(), moment_text);
    EXPECT_EQ(document->at("severity"), "fatal");
    EXPECT_EQ(document->at("partition"), "p");
    EXPECT_EQ(document->at("station"), "rec-1");
    EXPECT_EQ(document->at("run"), 17);
    EXPECT_EQ(document->at("text"), "a\n\"b\"\x1b\xef\xbf\xbd");
    EXPECT_FALSE(json::parse(json_line({}))->as_object().contains("run"));
}

TEST(JournalTest, GetsFieldsOneALine) {
    const JournalSocket there;
    const auto journal = Journal::behind(there.stream.c_str(), STDERR_FILENO, there.path);
    ASSERT_TRUE(journal);
    EXPECT_TRUE(journal->send({moment, "testbeam", "rec-1", RunNumber{17}, Severity::warning, "disk is slow"}));
    EXPECT_EQ(there.got(),
              "MESSAGE=disk is slow\nPRIORITY=4\nSYSLOG_IDENTIFIER=weir\nPARTITION=testbeam\nSTATION=rec-1\nRUN=17\n");
    EXPECT_TRUE(journal->send({moment, "", "", RunNumber{}, Severity::information, "two\nlines"}));
    EXPECT_EQ(there.got(), "MESSAGE\n\x09\0\0\0\0\0\0\0two\nlines\nPRIORITY=6\nSYSLOG_IDENTIFIER=weir\n"s);
}

TEST(JournalTest, IsUsedOnlyWhereStderrGoesToIt) {
    const JournalSocket there;
    EXPECT_FALSE(Journal::behind(nullptr, STDERR_FILENO, there.path));
    EXPECT_FALSE(Journal::behind("", STDERR_FILENO, there.path));
    EXPECT_FALSE(Journal::behind("1:1", STDERR_FILENO, there.path)) << "of a service that has given stderr to a file";
    EXPECT_FALSE(Journal::behind(there.stream.c_str(), STDERR_FILENO, there.folder / "absent"));
    EXPECT_FALSE(Journal::behind(there.stream.c_str(), STDERR_FILENO, std::string(200, 'x')));
}

TEST(JournalTest, OneThatDoesNotReadHoldsNobodyUpAndTheNextEntrySaysHowManyAreMissing) {
    const JournalSocket there;
    LogOutput output(there.options());
    EXPECT_TRUE(output.structured());
    for (int i = 0; i < 10'000; ++i) output.write({moment, {}, "rec-1", {}, Severity::error, std::string(3000, 'x')});
    while (there.got() != "nothing") {
    }
    output.write({moment, {}, "rec-1", {}, Severity::error, "at last"});
    EXPECT_THAT(there.got(),
                testing::MatchesRegex("MESSAGE=at last \\[[0-9]+ lines before this could not be written\\]\n(.|\n)*"));
    output.write({moment, {}, "rec-1", {}, Severity::error, "and on"});
    EXPECT_THAT(there.got(), HasSubstr("MESSAGE=and on\n"));
}

TEST(LogSinkTest, AReportBringsItsStationAndRunToTheJournal) {
    const JournalSocket there;
    const ManualClock clock;
    const auto output = std::make_shared<LogOutput>(there.options());
    output->set_run(RunNumber{4});
    std::vector<std::unique_ptr<ReportSink>> sinks;
    sinks.push_back(log_sink(output));
    Reports reports("rec-1", clock, std::move(sinks));
    reports.submit({.severity = Severity::error, .what = "file quarantined", .why = "sync failed"});
    EXPECT_EQ(there.got(),
              "MESSAGE=file quarantined: sync failed\nPRIORITY=3\nSYSLOG_IDENTIFIER=weir\n"
              "PARTITION=testbeam\nSTATION=rec-1\nRUN=4\n");
}

TEST(LogSinkTest, AsJsonALineIsOneDocumentAndNoLongerThanALine) {
    testing::internal::CaptureStderr();
    {
        const ManualClock clock;
        std::vector<std::unique_ptr<ReportSink>> sinks;
        sinks.push_back(log_sink(std::make_shared<LogOutput>(LogOptions{.format = LogFormat::json})));
        Reports reports("rec-1", clock, std::move(sinks));
        reports.submit({.severity = Severity::warning,
                        .what = "odd\n\x1b[31m",
                        .causes = {std::string(900, '"'), std::string(900, '\\'), std::string(900, '\1'),
                                   std::string(900, 'x'), std::string(900, 'y')}});
    }
    const auto shown = testing::internal::GetCapturedStderr();
    EXPECT_LE(shown.size(), 4001U);
    EXPECT_EQ(shown.find('\n'), shown.size() - 1);
    const auto document = json::parse(shown);
    ASSERT_TRUE(document) << shown;
    EXPECT_EQ(document->at("station"), "rec-1");
    EXPECT_THAT(std::string(document->at("text").as_string()), testing::StartsWith("odd\\n\\x1b[31m"));
}

}  // namespace
}  // namespace weir::service
