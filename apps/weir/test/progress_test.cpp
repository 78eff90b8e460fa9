// SPDX-License-Identifier: Apache-2.0
// The progress line on a pseudo-terminal, with a clock that the test moves.
#include "cli/progress.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

namespace weir::app {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;

/// A terminal of 60 columns whose screen the test reads.
class Terminal {
public:
    Terminal() {
        struct winsize size{};
        size.ws_col = 60;
        size.ws_row = 24;
        int program = -1;
        EXPECT_EQ(::openpty(&screen_, &program, nullptr, nullptr, &size), 0);
        EXPECT_EQ(::fcntl(screen_, F_SETFL, O_NONBLOCK), 0);
        file_ = ::fdopen(program, "w");
    }
    ~Terminal() {
        std::fclose(file_);
        ::close(screen_);
    }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    std::FILE* file() { return file_; }

    /// What was written since the last call.
    std::string written() {
        std::string text;
        std::array<char, 512> part{};
        for (ssize_t got; (got = ::read(screen_, part.data(), part.size())) > 0;)
            text.append(part.data(), static_cast<std::size_t>(got));
        return text;
    }

private:
    int screen_ = -1;
    std::FILE* file_ = nullptr;
};

TEST(ProgressLine, IsRewrittenInPlaceAtMostFiveTimesASecond) {
    ManualClock clock;
    Terminal terminal;
    ByteProgress progress(clock, "verify", Bytes{100'000'000'000}, terminal.file());
    int shown = 0;
    for (int i = 0; i < 100; ++i) {  // two seconds
        clock.advance(20ms);
        progress.add(40'000'000);
        const auto text = terminal.written();
        shown += text.empty() ? 0 : 1;
        EXPECT_EQ(text.find('\n'), std::string::npos);
    }
    EXPECT_EQ(shown, 10);
}

TEST(ProgressLine, SaysAmountRateAndTimeLeft) {
    ManualClock clock;
    Terminal terminal;
    ByteProgress progress(clock, "verify", Bytes{100'000'000'000}, terminal.file());
    clock.advance(10s);
    progress.add(20'000'000'000);
    EXPECT_EQ(progress.text(), "verify  20.0 GB of 100 GB (20 %), 2.00 GB/s, 40 s left");
    EXPECT_THAT(terminal.written(), HasSubstr(progress.text()));
}

TEST(ProgressLine, FitsTheWidthOfTheTerminal) {
    ManualClock clock;
    Terminal terminal;
    ProgressLine line(clock, terminal.file());
    line.show(std::string(200, 'x'));
    const auto text = terminal.written();
    EXPECT_EQ(std::ranges::count(text, 'x'), 59);
}

TEST(ProgressLine, IsGoneAtTheEnd) {
    ManualClock clock;
    Terminal terminal;
    {
        ProgressLine line(clock, terminal.file());
        line.show("half of it");
        EXPECT_FALSE(terminal.written().empty());
    }
    EXPECT_EQ(terminal.written(), "\r\x1b[K");
}

TEST(ProgressLine, WorkThatIsDoneAtOnceShowsNothing) {
    ManualClock clock;
    Terminal terminal;
    {
        ByteProgress progress(clock, "verify", Bytes{1000}, terminal.file());
        progress.add(1000);
    }
    EXPECT_THAT(terminal.written(), IsEmpty());
}

TEST(ProgressLine, NothingIsWrittenWhereThereIsNoTerminal) {
    ManualClock clock;
    std::FILE* file = ::tmpfile();
    ASSERT_NE(file, nullptr);
    {
        ByteProgress progress(clock, "verify", Bytes{1000}, file);
        clock.advance(1s);
        progress.add(500);
        clock.advance(1s);
        progress.add(500);
        ProgressLine line(clock, file);
        EXPECT_FALSE(line.due());
        line.show("text");
    }
    std::fflush(file);
    EXPECT_EQ(std::ftell(file), 0);
    std::fclose(file);
}

}  // namespace
}  // namespace weir::app
