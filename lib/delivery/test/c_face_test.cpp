// SPDX-License-Identifier: Apache-2.0
// The C face, and the example programs as a user would run them.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <cstring>

#include "end_to_end.hpp"
#include "weir/delivery/weir_delivery.h"

extern char** environ;

namespace weir::delivery::test {
namespace {

struct CSender {
    explicit CSender(const std::string& host, std::uint32_t window_events = 0) {
        weir_sender_options options{};
        options.host = host.c_str();
        options.name = "from-c";
        options.run = number(run);
        options.window_events = window_events;
        sender = weir_sender_create(&options, nullptr, 0);
    }
    ~CSender() { weir_sender_destroy(sender); }
    weir_sender* sender;
};

std::string host_of(const Recorder& recorder) { return "127.0.0.1:" + std::to_string(recorder.receiver->port()); }

TEST(CFace, SendsFlushesAndCounts) {
    Recorder recorder;
    recorder.start();
    const CSender c(host_of(recorder));
    ASSERT_NE(c.sender, nullptr);
    const std::array<const char*, 2> streams{"physics_Main", "calibration_LAr"};
    const weir_event event{
        .global_id = 4, .level1_id = 5, .lumi_block = 6, .streams = streams.data(), .stream_count = 2};
    std::uint64_t sequence = 0;
    EXPECT_EQ(weir_sender_send(c.sender, &event, "hello", 5, &sequence), WEIR_DELIVERY_OK);
    EXPECT_EQ(sequence, 1U);
    EXPECT_EQ(weir_sender_flush(c.sender, 60'000), WEIR_DELIVERY_OK);
    EXPECT_EQ(recorder.sink.payloads.at(0), "hello");
    EXPECT_EQ(recorder.sink.last_meta.lumi_block, LumiBlock{6});
    ASSERT_EQ(recorder.sink.last_meta.tags.size(), 2U);
    EXPECT_EQ(stream_key(recorder.sink.last_meta.tags[1]), "calibration_LAr");
    weir_sender_stats stats{};
    weir_sender_get_stats(c.sender, &stats);
    EXPECT_EQ(stats.acknowledged, 1U);
    EXPECT_EQ(stats.connected, 1);
}

TEST(CFace, SharesTheEventsOutToSeveralRecorders) {
    Recorder one, two;
    one.start();
    two.start();
    const CSender c(host_of(one) + "," + host_of(two));
    ASSERT_NE(c.sender, nullptr);
    ASSERT_TRUE(eventually([&] { return one.stats().connections == 1 && two.stats().connections == 1; }));
    const char* const stream = "physics_Main";
    const std::string payload(5000, 'x');
    std::uint64_t id = 0;
    ASSERT_TRUE(eventually([&] {
        const weir_event event{
            .global_id = ++id, .level1_id = 0, .lumi_block = 0, .streams = &stream, .stream_count = 1};
        EXPECT_EQ(weir_sender_send(c.sender, &event, payload.data(), payload.size(), nullptr), WEIR_DELIVERY_OK);
        return one.sink.taken() > 0 && two.sink.taken() > 0;
    }));
    EXPECT_EQ(weir_sender_flush(c.sender, 120'000), WEIR_DELIVERY_OK);
    EXPECT_EQ(one.sink.taken() + two.sink.taken(), id);
    weir_sender_stats stats{};
    weir_sender_get_stats(c.sender, &stats);
    EXPECT_EQ(stats.accepted, id);
    EXPECT_EQ(stats.acknowledged, id);
    EXPECT_EQ(stats.connected, 1);
    EXPECT_EQ(weir_sender_in_doubt(c.sender), 0U);
    std::array<char, 128> why{};
    weir_sender_options options{};
    options.host = "localhost:9000,";
    options.name = "from-c";
    EXPECT_EQ(weir_sender_create(&options, why.data(), why.size()), nullptr);
    EXPECT_NE(std::string(why.data()).find("is not an address"), std::string::npos) << why.data();
}

TEST(CFace, ReleasesAnOwnedPayloadOnceAndOnlyIfItWasTaken) {
    Recorder recorder;
    recorder.sink.answers = false;
    recorder.start();
    const CSender c(host_of(recorder), 1);
    std::atomic<int> released{0};
    const auto release = [](void* context) { ++*static_cast<std::atomic<int>*>(context); };
    const weir_event event{};
    ASSERT_EQ(weir_sender_try_send_owned(c.sender, &event, "a", 1, release, &released, nullptr), WEIR_DELIVERY_OK);
    EXPECT_EQ(weir_sender_try_send_owned(c.sender, &event, "b", 1, release, &released, nullptr), WEIR_DELIVERY_FULL);
    EXPECT_EQ(weir_sender_flush(c.sender, 1), WEIR_DELIVERY_TIMEOUT);
    EXPECT_EQ(released, 0);
    ASSERT_TRUE(eventually([&] { return recorder.sink.holding() == 1; }));
    recorder.sink.acknowledge_held();
    EXPECT_EQ(weir_sender_flush(c.sender, 60'000), WEIR_DELIVERY_OK);
    EXPECT_TRUE(eventually([&] { return released == 1; }));
}

TEST(CFace, SaysWhyACallFailed) {
    std::array<char, 64> why{};
    weir_sender_options options{};
    options.host = "nonsense";
    options.name = "from-c";
    EXPECT_EQ(weir_sender_create(&options, why.data(), why.size()), nullptr);
    EXPECT_NE(std::string(why.data()).find("nonsense"), std::string::npos);
    EXPECT_LT(std::strlen(why.data()), why.size());
    options.host = nullptr;
    EXPECT_EQ(weir_sender_create(&options, why.data(), why.size()), nullptr);

    Recorder recorder;
    recorder.start();
    const CSender c(host_of(recorder));
    const std::array<const char*, 1> streams{"no-underscore"};
    const weir_event event{
        .global_id = 1, .level1_id = 0, .lumi_block = 0, .streams = streams.data(), .stream_count = 1};
    EXPECT_STREQ(weir_sender_error(c.sender), "");
    EXPECT_EQ(weir_sender_send(c.sender, &event, "x", 1, nullptr), WEIR_DELIVERY_FAILED);
    EXPECT_NE(std::string(weir_sender_error(c.sender)).find("no-underscore"), std::string::npos);
    std::jthread([&c] { EXPECT_STREQ(weir_sender_error(c.sender), ""); }).join();
}

TEST(CFace, SaysHowEachEventEndedAndWhy) {
    Recorder recorder;
    recorder.start();
    struct Ends {
        std::mutex mutex;
        std::map<std::uint64_t, std::uint32_t> reasons;
    } ends;
    weir_sender_options options{};
    const auto host = host_of(recorder);
    options.host = host.c_str();
    options.name = "from-c";
    options.join_run = 1;
    options.on_final = [](void* context, std::uint64_t sequence, std::uint32_t reason) {
        auto& all = *static_cast<Ends*>(context);
        const std::scoped_lock lock(all.mutex);
        all.reasons[sequence] = reason;
    };
    options.on_final_context = &ends;
    auto* sender = weir_sender_create(&options, nullptr, 0);
    ASSERT_NE(sender, nullptr);
    const char* stream = "physics_Main";
    const weir_event event{.global_id = 1, .level1_id = 1, .lumi_block = 1, .streams = &stream, .stream_count = 1};
    EXPECT_EQ(weir_sender_send(sender, &event, "taken", 5, nullptr), WEIR_DELIVERY_OK);
    EXPECT_EQ(weir_sender_flush(sender, 60'000), WEIR_DELIVERY_OK);
    {
        const std::scoped_lock lock(recorder.sink.mutex);
        recorder.sink.reject_all = true;
    }
    EXPECT_EQ(weir_sender_send(sender, &event, "not taken", 9, nullptr), WEIR_DELIVERY_OK);
    EXPECT_EQ(weir_sender_flush(sender, 60'000), WEIR_DELIVERY_OK);
    {
        const std::scoped_lock lock(ends.mutex);
        EXPECT_EQ(ends.reasons,
                  (std::map<std::uint64_t, std::uint32_t>{{1, WEIR_ACKNOWLEDGED}, {2, WEIR_REJECT_STREAMS_EXCEEDED}}));
    }
    weir_sender_stats stats{};
    weir_sender_get_stats(sender, &stats);
    EXPECT_EQ(stats.rejected, 1U);
    EXPECT_EQ(stats.rejected_by[WEIR_REJECT_STREAMS_EXCEEDED], 1U);
    EXPECT_STREQ(weir_reject_reason_name(WEIR_REJECT_STREAMS_EXCEEDED), "streams_exceeded");
    EXPECT_STREQ(weir_reject_reason_name(4711), "unknown");
    weir_sender_destroy(sender);
}

TEST(CFace, EveryRejectReasonHasItsNumber) {
    for (const auto reason : wire::reject_reasons)
        EXPECT_STREQ(weir_reject_reason_name(static_cast<std::uint32_t>(reason)), wire::name(reason));
    EXPECT_EQ(static_cast<int>(WEIR_REJECT_NOT_SELECTED), static_cast<int>(wire::RejectReason::not_selected));
    EXPECT_EQ(wire::reject_reasons.size(), 15U);
}

TEST(CFace, NullIsAnErrorAndNoCrash) {
    std::array<char, 100> why{};
    EXPECT_EQ(weir_sender_create(nullptr, why.data(), why.size()), nullptr);
    EXPECT_NE(std::string(why.data()).find("NULL"), std::string::npos);
    const CSender c("localhost:1");
    ASSERT_NE(c.sender, nullptr);
    const std::array<const char*, 2> streams{"physics_Main", nullptr};
    const auto refuses = [&](const weir_event* event, const void* payload, std::size_t size) {
        EXPECT_EQ(weir_sender_send(c.sender, event, payload, size, nullptr), WEIR_DELIVERY_FAILED);
        EXPECT_NE(std::string(weir_sender_error(c.sender)).find("NULL"), std::string::npos)
            << weir_sender_error(c.sender);
    };
    const weir_event second_is_null{
        .global_id = 1, .level1_id = 0, .lumi_block = 0, .streams = streams.data(), .stream_count = 2};
    const weir_event none{.global_id = 1, .level1_id = 0, .lumi_block = 0, .streams = nullptr, .stream_count = 1};
    const weir_event good{
        .global_id = 1, .level1_id = 0, .lumi_block = 0, .streams = streams.data(), .stream_count = 1};
    refuses(&second_is_null, "x", 1);
    refuses(&none, "x", 1);
    refuses(nullptr, "x", 1);
    refuses(&good, nullptr, 1);
}

int run_program(const char* program, const std::string& host) {
    std::string name = program, where = host, number_text = std::to_string(number(run));
    const std::array<char*, 4> arguments{name.data(), where.data(), number_text.data(), nullptr};
    pid_t child = 0;
    EXPECT_EQ(::posix_spawn(&child, program, nullptr, nullptr, arguments.data(), environ), 0);
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Example, InCppAndInCRecordTheirEvents) {
    Recorder recorder;
    recorder.start();
    EXPECT_EQ(run_program(WEIR_EXAMPLE_CPP, host_of(recorder)), 0);
    EXPECT_EQ(recorder.stats().acknowledged, 100U);
    EXPECT_EQ(run_program(WEIR_EXAMPLE_C, host_of(recorder)), 0);
    EXPECT_EQ(recorder.stats().acknowledged, 200U);
    EXPECT_TRUE(recorder.sink.each_once());
}

TEST(Example, EndsWithOneWhenEventsWereRejected) {
    Recorder recorder;
    recorder.sink.reject_all = true;
    recorder.start();
    EXPECT_EQ(run_program(WEIR_EXAMPLE_CPP, host_of(recorder)), 1);
    EXPECT_EQ(run_program(WEIR_EXAMPLE_C, host_of(recorder)), 1);
    EXPECT_EQ(recorder.stats().rejected_by_sink[wire::index(wire::RejectReason::streams_exceeded)], 200U);
}

}  // namespace
}  // namespace weir::delivery::test
