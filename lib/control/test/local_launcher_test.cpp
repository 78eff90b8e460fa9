// SPDX-License-Identifier: Apache-2.0
#include "weir/control/local_launcher.hpp"

#include <gmock/gmock.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "weir/control/log_book.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

class LocalLauncherTest : public testing::Test {
protected:
    LocalLauncherTest() {
        std::string pattern = testing::TempDir() + "launcher-XXXXXX";
        directory = ::mkdtemp(pattern.data());
    }
    ~LocalLauncherTest() override { std::filesystem::remove_all(directory); }

    [[nodiscard]] Result<std::unique_ptr<LaunchedProcess>> shell(const std::string& script) {
        return launcher.launch({"sh-1", {"/bin/sh", "-c", script}, directory / "sh-1.log"});
    }
    template <class Ask>
    static auto wait_for(Ask ask) {
        const auto end = std::chrono::steady_clock::now() + 120s;
        auto answer = ask();
        while (!answer && std::chrono::steady_clock::now() < end) {
            std::this_thread::sleep_for(5ms);
            answer = ask();
        }
        return answer;
    }

    std::filesystem::path directory;
    LocalLauncher launcher;
};

TEST_F(LocalLauncherTest, ReadsTheFirstLineAndHowItEnds) {
    auto process = shell("echo first; echo second; exit 3");
    ASSERT_TRUE(process);
    EXPECT_EQ(wait_for([&] { return (*process)->announcement(); }), "first");
    const auto end = wait_for([&] { return (*process)->ended(); });
    ASSERT_TRUE(end);
    EXPECT_EQ(end->text(), "ended with code 3");
}

TEST_F(LocalLauncherTest, AProgramThatIsNotThereIsAnErrorAtOnce) {
    const auto process = launcher.launch({"x", {"/nonexistent/weir"}, directory / "x.log"});
    ASSERT_FALSE(process);
    EXPECT_THAT(process.error().message(), HasSubstr("cannot start x: /nonexistent/weir"));
}

TEST_F(LocalLauncherTest, EndsOnSigtermAndIsKilledWithAllThatItStarted) {
    auto process = shell("echo up; exec sleep 100");
    ASSERT_TRUE(process);
    ASSERT_TRUE(wait_for([&] { return (*process)->announcement(); }));
    (*process)->terminate();
    EXPECT_EQ(wait_for([&] { return (*process)->ended(); })->text(), "was ended by signal 15 (Terminated)");

    process = shell("trap '' TERM; sleep 100 & echo $!; wait");
    ASSERT_TRUE(process);
    const auto helper = std::stoi(*wait_for([&] { return (*process)->announcement(); }));
    (*process)->kill();
    EXPECT_EQ(wait_for([&] { return (*process)->ended(); })->signal, SIGKILL);
    EXPECT_TRUE(wait_for([&] {  // reaped by init, which may take a moment
        std::ifstream status("/proc/" + std::to_string(helper) + "/stat");
        const std::string text{std::istreambuf_iterator<char>(status), {}};
        return text.empty() || text.find(") Z ") != text.npos;
    }));
}

TEST_F(LocalLauncherTest, OneThatIsGivenUpIsReapedAsSoonAsItHasEnded) {
    auto process = shell("echo up; exec sleep 100");
    ASSERT_TRUE(process);
    ASSERT_TRUE(wait_for([&] { return (*process)->announcement(); }));
    const auto pid = static_cast<pid_t>((*process)->pid());
    const auto begin = std::chrono::steady_clock::now();
    process->reset();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 900ms) << "not the longest that a hanging one is waited for";
    EXPECT_EQ(::kill(pid, 0), -1) << "a zombie is left";
}

TEST_F(LocalLauncherTest, WhatAStationSaysIsReadBehindItAndItsLogStaysBounded) {
    LogTail tail(directory / "sh-1.log", 64_B);
    std::vector<std::string> lines;
    const auto keep = [&](std::string_view line) { lines.emplace_back(line); };
    auto process = shell("echo one >&2; printf half >&2");
    ASSERT_TRUE(wait_for([&] { return (*process)->ended(); }));
    tail.read(keep);
    process = shell("echo ' a line' >&2; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do echo more$i >&2; done");
    ASSERT_TRUE(wait_for([&] { return (*process)->ended(); }));
    tail.read(keep);
    ASSERT_EQ(lines.size(), 15U);
    EXPECT_EQ(lines[1], "half a line");
    EXPECT_EQ(std::filesystem::file_size(directory / "sh-1.log"), 0U);
    EXPECT_TRUE(std::filesystem::exists(directory / "sh-1.log.1"));
}

TEST(LogBook, KeepsTheLatestLinesAndNumbersAll) {
    LogBook book(2);
    for (const auto* line : {"a", "b", "c"}) book.add({}, "x", line);
    const auto lines = book.after(0, 10);
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0].number, 2U);
    EXPECT_EQ(book.after(2, 10).front().text, "c");
    EXPECT_EQ(book.last(), 3U);
}

}  // namespace
}  // namespace weir::control
