// SPDX-License-Identifier: Apache-2.0
// Shell scripts play the worker: its socket is descriptor 3.
#include "weir/plugin/worker_process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "weir/base/endian.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/plugin/worker_command.hpp"

namespace weir::plugin {
namespace {

using namespace std::chrono_literals;
using Got = WorkerProcess::Got;

constexpr MessageLimits limits{.kind_max = 3, .size_max = 1000};

std::unique_ptr<WorkerProcess> shell(const std::string& script, const MessageLimits& allowed = limits) {
    auto process = WorkerProcess::start({"/bin/sh", "-c", script}, allowed, system_clock());
    EXPECT_TRUE(process) << process.error().message();
    return std::move(*process);
}

SteadyTime in(std::chrono::nanoseconds time) { return system_clock().now() + time; }

/// "WRSA", kind 2, five bytes.
const std::string hello = R"(printf 'WRSA\002\000\000\000\005\000\000\000hello' >&3; )";

TEST(WorkerProcess, ItsMessagesComeWholeAlsoWhenTheyCameInPieces) {
    const auto process = shell(
        "printf 'WRSA\\002\\000' >&3; head -c1 <&3; printf '\\000\\000\\005\\000\\000\\000he' >&3; sleep 0.1;"
        "printf 'llo' >&3; " +
        hello);
    WorkerMessage message;
    EXPECT_EQ(process->receive(message, in(50ms), {}), Got::too_late);
    process->send(as_data("x"));
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(process->receive(message, in(20s), {}), Got::message);
        EXPECT_EQ(message.kind, 2U);
        EXPECT_EQ(as_text(message.body), "hello");
    }
    EXPECT_EQ(process->receive(message, in(20s), {}), Got::ended);
    EXPECT_EQ(process->how_it_ended({}), "its process ended with exit code 0");
}

TEST(WorkerProcess, HowItEndedIsNamed) {
    WorkerMessage message;
    const auto left = shell("exit 3");
    EXPECT_EQ(left->receive(message, in(20s), {}), Got::ended);
    EXPECT_EQ(left->how_it_ended({}), "its process ended with exit code 3");
    const auto killed = shell("kill -SEGV $$");
    EXPECT_EQ(killed->receive(message, in(20s), {}), Got::ended);
    EXPECT_NE(killed->how_it_ended({}).find("signal 11"), std::string::npos);
}

TEST(WorkerProcess, BytesThatAreNoMessageAreNamedBeforeTheirBodyIsRead) {
    WorkerMessage message;
    const auto garbage = shell("printf 'GET / HTTP/1.1\\r\\n' >&3; sleep 20");
    EXPECT_EQ(garbage->receive(message, in(20s), {}), Got::nonsense);
    EXPECT_NE(garbage->why_nonsense().find("not an answer"), std::string::npos);
    const auto unknown = shell("printf 'WRSA\\011\\000\\000\\000\\000\\000\\000\\000' >&3; sleep 20");
    EXPECT_EQ(unknown->receive(message, in(20s), {}), Got::nonsense);
    EXPECT_NE(unknown->why_nonsense().find("unknown kind"), std::string::npos);
    const auto huge = shell("printf 'WRSA\\001\\000\\000\\000\\377\\377\\377\\377' >&3; sleep 20");
    EXPECT_EQ(huge->receive(message, in(20s), {}), Got::nonsense);
    EXPECT_NE(huge->why_nonsense().find("1000 are allowed"), std::string::npos);
}

TEST(WorkerProcess, AWaitEndsByAStopAndByAWake) {
    WorkerMessage message;
    const auto silent = shell("sleep 20");
    std::stop_source stop;
    stop.request_stop();
    EXPECT_EQ(silent->receive(message, in(20s), stop.get_token()), Got::stopped);
    const Descriptor wake(::eventfd(1, EFD_CLOEXEC));
    EXPECT_EQ(silent->receive(message, in(20s), {}, wake.get()), Got::woken);
}

TEST(WorkerProcess, WhatItStartedEndsWithIt) {
    auto process = shell(R"(sleep 20 & printf 'WRSA\001\000\000\000\007\000\000\000%07d' $! >&3; wait)");
    WorkerMessage message;
    ASSERT_EQ(process->receive(message, in(20s), {}), Got::message);
    const auto child = std::stoi(std::string(as_text(message.body)));
    EXPECT_EQ(::kill(child, 0), 0);
    process.reset();
    const auto state = [child] {  // of a process that nobody has waited for yet: "Z"
        std::ifstream file("/proc/" + std::to_string(child) + "/stat");
        std::string number, name, letter;
        file >> number >> name >> letter;
        return letter;
    };
    for (int i = 0; i < 2000 && !state().empty() && state() != "Z"; ++i) ::usleep(10'000);
    EXPECT_TRUE(state().empty() || state() == "Z");
}

TEST(WorkerProcess, BothEndsMaySendMoreThanTheSocketHoldsAtOnce) {
    const auto process = shell("cat <&3 | head -c 4000000 >&3", {.kind_max = 3, .size_max = 1 << 20});
    std::vector<std::byte> out, body(100'000, std::byte{7});
    for (int i = 0; i < 50; ++i) write_message(2, body, out);
    process->send(out);
    EXPECT_GT(process->unsent(), 0U);
    WorkerMessage message;
    for (int i = 0; i < 39; ++i) {
        ASSERT_EQ(process->receive(message, in(20s), {}), Got::message) << i;
        EXPECT_TRUE(std::ranges::equal(message.body, body));
    }
}

TEST(WorkerProcess, AHeadCutOrChangedIsAnErrorAndNeverALargerBody) {
    std::vector<std::byte> bytes;
    write_message(3, as_data("why"), bytes);
    const auto head = ConstData(bytes).first(message_head);
    EXPECT_EQ(read_message_head(head, limits)->size, 3U);
    for (std::size_t size = 0; size < message_head; ++size) EXPECT_FALSE(read_message_head(head.first(size), limits));
    for (std::size_t at = 0; at < message_head; ++at) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            auto damaged = bytes;
            damaged[at] ^= std::byte{1} << bit;
            const auto read = read_message_head(ConstData(damaged).first(message_head), limits);
            if (read) {
                EXPECT_TRUE(read->size <= limits.size_max && read->kind >= 1 && read->kind <= limits.kind_max);
            }
        }
    }
}

TEST(WorkerCommand, NamesAWorkerThatIsNotInstalled) {
    const auto command = worker_command({.program = "none", .script = "none.py", .folder = "/proc"}, "/x.so");
    ASSERT_FALSE(command);
    EXPECT_NE(command.error().context.find("none is not beside this program"), std::string::npos);
    EXPECT_EQ(check_plugin_file("x.txt", "front-end").error().code, Errc::usage);
    EXPECT_NE(check_plugin_file("nothing.so", "front-end").error().context.find("is not there"), std::string::npos);
}

}  // namespace
}  // namespace weir::plugin
