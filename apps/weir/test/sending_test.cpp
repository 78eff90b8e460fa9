// SPDX-License-Identifier: Apache-2.0
// Sending against a real receiver whose sink the test plays: everything is answered and counted, the rate
// holds, and stopping always ends.
#include "send/sending.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <thread>

#include "weir/delivery/receiver.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

/// Small events, made at once, of which only a bounded number may be underway.
class SmallEvents final : public workload::EventSource {
public:
    /// Of 100 bytes; every `larger_each`th of 101, every `no_stream_each`th with a tag that is no stream.
    explicit SmallEvents(std::size_t underway_max = 1000, std::uint64_t larger_each = 0,
                         std::uint64_t no_stream_each = 0)
        : underway_max_(underway_max), larger_each_(larger_each), no_stream_each_(no_stream_each) {}
    RunNumber run() const override { return RunNumber{5}; }
    void set_run(RunNumber) override {}
    event::Format format() const override { return event::Format::opaque; }
    std::optional<std::uint64_t> events_once() const override { return std::nullopt; }
    bool repeats() const override { return true; }
    Bytes event_size_max() const override { return Bytes{101}; }
    std::optional<workload::SourcedEvent> make(std::uint64_t n) override {
        const std::scoped_lock lock(mutex_);
        if (underway_ == underway_max_) return std::nullopt;
        ++underway_;
        auto* const bytes =
            new std::vector<std::byte>(larger_each_ != 0 && n % larger_each_ == 0 ? 101 : 100, std::byte{7});
        std::shared_ptr<const void> owner(bytes->data(), [this, bytes](const void*) {
            delete bytes;
            const std::scoped_lock release(mutex_);
            --underway_;
        });
        auto tag = *parse_stream_key("physics_Main");
        if (no_stream_each_ != 0 && n % no_stream_each_ == 0) tag.type = "no type";
        return workload::SourcedEvent{.global_id = GlobalEventId{1 + n},
                                      .level1_id = Level1Id{static_cast<std::uint32_t>(1 + n)},
                                      .lumi_block = LumiBlock{1},
                                      .tags = {std::move(tag)},
                                      .data = *bytes,
                                      .owner = std::move(owner)};
    }

private:
    std::mutex mutex_;
    std::size_t underway_ = 0;
    const std::size_t underway_max_;
    const std::uint64_t larger_each_;
    const std::uint64_t no_stream_each_;
};

/// Takes every event and answers it as it was configured.
class Recorder final : public delivery::EventSink {
public:
    enum class Answers { acknowledge, reject, none };

    explicit Recorder(Answers answers = Answers::acknowledge, std::optional<delivery::Refusal> refusal = {},
                      Bytes event_size_max = 1_MiB)
        : answers_(answers), refusal_(std::move(refusal)) {
        auto opened = delivery::Receiver::open({.event_size_max = event_size_max}, pool_, *this);
        EXPECT_TRUE(opened.has_value());
        receiver_ = std::move(*opened);
        receiver_->start();
    }
    ~Recorder() override { receiver_.reset(); }

    std::optional<delivery::Refusal> hello(delivery::SessionId, const wire::Hello&) override { return refusal_; }

    delivery::Taken take(delivery::IncomingEvent& event) override {
        const delivery::IncomingEvent mine = std::move(event);
        const delivery::Answer answer{mine.session, mine.meta.sequence};
        {
            const std::scoped_lock lock(mutex_);
            ids_.insert(mine.meta.global_id);
            sessions_.insert(mine.session);
        }
        if (answers_ == Answers::acknowledge) receiver_->acknowledge(std::span(&answer, 1));
        if (answers_ == Answers::reject) receiver_->reject(answer, wire::RejectReason::late, "too late");
        return delivery::Taken::yes;
    }

    [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(receiver_->port()); }
    [[nodiscard]] std::set<GlobalEventId> ids() const {
        const std::scoped_lock lock(mutex_);
        return ids_;
    }
    [[nodiscard]] std::size_t sessions() const {
        const std::scoped_lock lock(mutex_);
        return sessions_.size();
    }

private:
    memory::BufferPool pool_{64_MiB};
    const Answers answers_;
    const std::optional<delivery::Refusal> refusal_;
    mutable std::mutex mutex_;
    std::set<GlobalEventId> ids_;
    std::set<delivery::SessionId> sessions_;
    std::unique_ptr<delivery::Receiver> receiver_;
};

TEST(Sending, EveryEventIsSentOnceAndAnsweredOverAnyNumberOfConnections) {
    for (const std::uint32_t connections : {1U, 3U, 100U}) {
        Recorder recorder;
        SmallEvents source;
        auto sending = Sending::start({.to = {recorder.address()}, .connections = connections, .events = 5000}, source);
        ASSERT_TRUE(sending.has_value()) << sending.error().message();
        const bool ended = (*sending)->wait(100s);
        ASSERT_TRUE(ended) << connections << " connections, " << (*sending)->counts().sent << " sent, "
                           << (*sending)->counts().acknowledged << " acknowledged, " << recorder.ids().size()
                           << " received";
        const auto counts = (*sending)->counts();
        EXPECT_EQ(counts.sent, 5000U);
        EXPECT_EQ(counts.acknowledged, 5000U);
        EXPECT_EQ(counts.unanswered, 0U);
        EXPECT_EQ(counts.bytes, 500'000U);
        EXPECT_GT(counts.seconds, 0);
        EXPECT_TRUE(counts.complete());
        EXPECT_FALSE((*sending)->failure().has_value());
        const auto ids = recorder.ids();
        EXPECT_EQ(ids.size(), 5000U);
        EXPECT_EQ(*ids.begin(), GlobalEventId{1});
        EXPECT_EQ(*ids.rbegin(), GlobalEventId{5000});
        EXPECT_LE(recorder.sessions(), connections);
    }
}

TEST(Sending, MemoryOfAFewEventsIsEnoughForManyConnections) {
    Recorder recorder;
    SmallEvents source(2);
    auto sending = Sending::start({.to = {recorder.address()}, .connections = 8, .events = 300}, source);
    ASSERT_TRUE(sending.has_value());
    ASSERT_TRUE((*sending)->wait(100s));
    EXPECT_EQ((*sending)->counts().acknowledged, 300U);
}

TEST(Sending, RejectionsAreCountedByReasonAndEndTheWait) {
    Recorder recorder(Recorder::Answers::reject);
    SmallEvents source;
    auto sending = Sending::start({.to = {recorder.address()}, .connections = 2, .events = 50}, source);
    ASSERT_TRUE(sending.has_value());
    ASSERT_TRUE((*sending)->wait(100s));
    const auto counts = (*sending)->counts();
    EXPECT_EQ(counts.rejected, 50U);
    EXPECT_EQ(counts.rejected_by[wire::index(wire::RejectReason::late)], 50U);
    EXPECT_FALSE(counts.complete());
}

TEST(Sending, EventsThatTheRecorderWouldNotTakeAreCountedAndCostNoOther) {
    Recorder recorder(Recorder::Answers::acknowledge, {}, Bytes{100});
    SmallEvents source(1000, 3);
    auto sending = Sending::start({.to = {recorder.address()}, .connections = 2, .events = 300}, source);
    ASSERT_TRUE(sending.has_value());
    ASSERT_TRUE((*sending)->wait(100s));
    const auto counts = (*sending)->counts();
    EXPECT_EQ(counts.sent, 300U);
    EXPECT_EQ(counts.rejected_by[wire::index(wire::RejectReason::too_large)], 100U);
    EXPECT_EQ(counts.acknowledged, 200U);
    EXPECT_EQ(counts.unanswered, 0U);
    EXPECT_EQ(counts.copies, 200U) << "of events that are acknowledged";
    EXPECT_EQ((*sending)->answer_times().count(), 200U);
    EXPECT_FALSE((*sending)->failure().has_value());
}

TEST(Sending, AnEventWithATagThatIsNoStreamIsCountedAndCostsNoOther) {
    Recorder recorder;
    SmallEvents source(1000, 0, 3);
    auto sending = Sending::start({.to = {recorder.address()}, .connections = 1, .events = 300}, source);
    ASSERT_TRUE(sending.has_value());
    ASSERT_TRUE((*sending)->wait(100s));
    const auto counts = (*sending)->counts();
    EXPECT_EQ(counts.sent, 300U);
    EXPECT_EQ(counts.rejected_by[wire::index(wire::RejectReason::bad_tag)], 100U);
    EXPECT_EQ(counts.acknowledged, 200U);
    EXPECT_NE(counts.first_refusal.find("event 1 cannot be sent"), std::string::npos) << counts.first_refusal;
    EXPECT_FALSE((*sending)->failure().has_value());
}

TEST(Sending, TheRateIsKeptOverAllConnectionsTogether) {
    Recorder recorder;
    SmallEvents source;
    const auto begin = std::chrono::steady_clock::now();
    auto sending =
        Sending::start({.to = {recorder.address()}, .connections = 4, .events = 101, .rate_hz = 200}, source);
    ASSERT_TRUE(sending.has_value());
    ASSERT_TRUE((*sending)->wait(100s));
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 395ms);  // 100 periods, and at most 100 ms caught up
    EXPECT_GE((*sending)->counts().seconds, 0.395);
}

TEST(Sending, StopEndsAnEndlessSendingWithEverythingAnswered) {
    Recorder recorder;
    SmallEvents source;
    auto sending = Sending::start({.to = {recorder.address()}, .connections = 2}, source);
    ASSERT_TRUE(sending.has_value());
    EXPECT_FALSE((*sending)->wait(100ms));
    while ((*sending)->counts().sent == 0) std::this_thread::sleep_for(1ms);
    (*sending)->stop();
    ASSERT_TRUE((*sending)->wait(100s));
    const auto counts = (*sending)->counts();
    EXPECT_GT(counts.sent, 0U);
    EXPECT_EQ(counts.acknowledged, counts.sent);
    EXPECT_EQ(recorder.ids().size(), counts.sent);
}

TEST(Sending, StopEndsEvenWhenNoAnswerComesAndSaysHowManyAreMissing) {
    Recorder recorder(Recorder::Answers::none);
    SmallEvents source(10);
    auto sending = Sending::start({.to = {recorder.address()}, .answers_max = 100ms}, source);
    ASSERT_TRUE(sending.has_value());
    while ((*sending)->counts().sent < 10) std::this_thread::sleep_for(1ms);
    (*sending)->stop();
    ASSERT_TRUE((*sending)->wait(100s));
    const auto counts = (*sending)->counts();
    EXPECT_EQ(counts.unanswered, 10U);
    EXPECT_EQ(counts.bytes, 1000U);
    EXPECT_EQ(counts.bytes_answered, 0U);
    std::this_thread::sleep_for(5ms);
    EXPECT_EQ((*sending)->counts().seconds, counts.seconds);
}

TEST(Sending, AbandonEndsAtOnce) {
    Recorder recorder(Recorder::Answers::none);
    SmallEvents source(10);
    auto sending = Sending::start({.to = {recorder.address()}, .answers_max = 1h}, source);
    ASSERT_TRUE(sending.has_value());
    while ((*sending)->counts().sent < 10) std::this_thread::sleep_for(1ms);
    (*sending)->abandon();
    EXPECT_TRUE((*sending)->wait(100s));
}

TEST(Sending, ARefusalStopsEverythingInTheWordsOfTheRecorder) {
    Recorder recorder(Recorder::Answers::acknowledge,
                      delivery::Refusal{wire::ByeReason::wrong_run, "run 9 is being recorded, not run 5"});
    SmallEvents source;
    auto sending = Sending::start({.to = {recorder.address()}, .connections = 3, .events = 100}, source);
    ASSERT_TRUE(sending.has_value());
    ASSERT_TRUE((*sending)->wait(100s));
    const auto failure = (*sending)->failure();
    ASSERT_TRUE(failure.has_value());
    EXPECT_NE(failure->message().find("run 9 is being recorded, not run 5"), std::string::npos) << failure->message();
    EXPECT_EQ((*sending)->counts().acknowledged, 0U);
}

TEST(Sending, SeveralRecordersShareTheEvents) {
    Recorder one, two, three;
    SmallEvents source;
    auto sending = Sending::start(
        {.to = {one.address(), two.address(), three.address()}, .connections = 2, .events = 20'000}, source);
    ASSERT_TRUE(sending.has_value()) << sending.error().message();
    ASSERT_TRUE((*sending)->wait(120s));
    const auto counts = (*sending)->counts();
    EXPECT_EQ(counts.acknowledged, 20'000U);
    EXPECT_EQ(counts.in_doubt, 0U);
    EXPECT_EQ(one.ids().size() + two.ids().size() + three.ids().size(), 20'000U);
}

TEST(Sending, OfSeveralRecordersOneThatRefusesIsReportedAndTheOthersGetItsEvents) {
    Recorder one(Recorder::Answers::acknowledge, delivery::Refusal{wire::ByeReason::wrong_run, "run 9 is recorded"});
    Recorder two;
    SmallEvents source;
    std::mutex mutex;
    std::vector<std::string> reports;
    auto sending = Sending::start({.to = {one.address(), two.address()},
                                   .events = 3000,
                                   .report =
                                       [&](const Report& report) {
                                           const std::scoped_lock lock(mutex);
                                           reports.push_back(text_of(report));
                                       }},
                                  source);
    ASSERT_TRUE(sending.has_value()) << sending.error().message();
    ASSERT_TRUE((*sending)->wait(120s));
    EXPECT_EQ((*sending)->counts().acknowledged, 3000U);
    EXPECT_FALSE((*sending)->failure().has_value());
    EXPECT_EQ(two.ids().size(), 3000U);
    for (const auto& report : reports) EXPECT_NE(report.find("run 9 is recorded"), std::string::npos) << report;
}

TEST(Sending, WithoutARecorderItGivesUpWhenItWasToldTo) {
    SmallEvents source;
    auto sending = Sending::start({.to = {"127.0.0.1:1"}, .events = 10, .give_up_after = 200ms}, source);
    ASSERT_TRUE(sending.has_value());
    ASSERT_TRUE((*sending)->wait(100s));
    EXPECT_TRUE((*sending)->failure().has_value());
}

TEST(Sending, OptionsThatCannotBeAreRefusedBeforeAnythingIsSent) {
    SmallEvents source;
    for (const SendingOptions& options :
         {SendingOptions{.to = {"localhost:9000"}, .connections = 0},
          SendingOptions{.to = {"localhost:9000"}, .connections = 1001}, SendingOptions{.to = {"nowhere"}},
          SendingOptions{.to = {"localhost:9000"}, .name = "a b"}}) {
        const auto sending = Sending::start(options, source);
        ASSERT_FALSE(sending.has_value());
        EXPECT_EQ(sending.error().code, Errc::usage) << sending.error().message();
        EXPECT_EQ(sending.error().message().find("0000"), std::string::npos) << sending.error().message();
    }
    const auto nowhere = Sending::start({.to = {"nowhere"}, .connections = 2}, source);
    ASSERT_FALSE(nowhere.has_value());
    EXPECT_NE(nowhere.error().message().find("recorder nowhere, connection 1: "), std::string::npos)
        << nowhere.error().message();
}

TEST(RatePacer, GivesOneMomentAPeriodAndForgetsWhatCouldNotBeCaughtUp) {
    RatePacer pacer(1000, 5ms);
    SteadyTime now{1h};
    EXPECT_EQ(pacer.try_take(now), 0ns);
    EXPECT_EQ(pacer.try_take(now), 1ms);
    now += 1ms;
    EXPECT_EQ(pacer.try_take(now), 0ns);
    EXPECT_EQ(pacer.try_take(now), 1ms);
    now += 10s;  // a long pause: five events are caught up, not ten thousand
    int taken = 0;
    while (pacer.try_take(now) == 0ns) ++taken;
    EXPECT_EQ(taken, 6);
}

TEST(RatePacer, WithoutARateNobodyWaits) {
    RatePacer pacer(0);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(pacer.try_take(SteadyTime{}), 0ns);
}

TEST(RatePacer, ARateBelowOneASecondIsKeptToo) {
    RatePacer pacer(0.5);
    SteadyTime now{1h};
    EXPECT_EQ(pacer.try_take(now), 0ns);
    EXPECT_EQ(pacer.try_take(now + 500ms), 1500ms);
    EXPECT_EQ(pacer.try_take(now + 2s), 0ns);
}

}  // namespace
}  // namespace weir::app
