// SPDX-License-Identifier: Apache-2.0
#include "weir/selection/filter.hpp"
#include "weir/base/testing/eventually.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "weir/delivery/sender.hpp"
#include "weir/event/event_builder.hpp"
#include "weir/event/event_view.hpp"
#include "weir/event/rob_builder.hpp"
#include "weir/transport/reserved_port.hpp"
#include "weir/wire/recorder_choice.hpp"

namespace weir::selection {
namespace {

using namespace std::chrono_literals;
using testing::eventually;

constexpr RunNumber run{77};

std::vector<std::byte> sample_event(std::uint32_t id, event::Format format = event::Format::event_5_0) {
    std::vector<std::byte> robs[3];
    std::vector<ConstData> list;
    const std::vector<std::uint32_t> data(10, id);
    for (std::uint32_t i = 0; i < 3; ++i) {
        EXPECT_TRUE(event::append_rob(robs[i],
                                      {.source = SourceId{0xa10000 + i}, .run = run, .level1_id = Level1Id{id}}, data,
                                      {.format = format}));
        list.push_back(robs[i]);
    }
    event::EventFields fields;
    fields.format = format;
    fields.ids = {.run = run, .global_id = GlobalEventId{id}, .level1_id = Level1Id{id}};
    if (format == event::Format::event_3_0) fields.level1_words = {1, 2, 3, 4};
    return event::build_event(fields, list).value();
}

transport::ReservedPort any_port() { return transport::ReservedPort::take({"127.0.0.1", 0}).value(); }

/// A recorder that keeps what it gets, and acknowledges it at once or when the test asks for it.
class Recorder final : public delivery::EventSink {
public:
    explicit Recorder(const transport::ReservedPort& at = any_port(), Bytes event_size_max = 64_MiB) : pool(64_MiB) {
        const auto lent = at.lend();
        delivery::ReceiverOptions options;
        options.event_size_max = event_size_max;
        options.listen = at.address();
        options.threads = 1;
        receiver = delivery::Receiver::open(options, pool, *this).value();
        receiver->start();
    }
    std::optional<delivery::Refusal> hello(delivery::SessionId, const wire::Hello&) override { return std::nullopt; }
    delivery::Taken take(delivery::IncomingEvent& event) override {
        const std::scoped_lock lock(mutex);
        const auto id = number(event.meta.global_id);
        ++taken;
        metas[id] = event.meta;
        payloads[id].assign(event.payload.data().begin(), event.payload.data().end());
        const delivery::Answer answer{event.session, event.meta.sequence};
        if (refuses) receiver->reject(answer, wire::RejectReason::streams_exceeded, "too many");
        else if (answers) receiver->acknowledge(std::span(&answer, 1));
        else held.push_back(answer);
        event = {};
        return delivery::Taken::yes;
    }
    void answer_held() {
        const std::scoped_lock lock(mutex);
        receiver->acknowledge(held);
        held.clear();
        answers = true;
    }
    [[nodiscard]] std::size_t stored() {
        const std::scoped_lock lock(mutex);
        return metas.size();
    }
    Peer peer(const std::string& name = "rec-1") const {
        return {.name = name,
                .kind = StationKind::record,
                .id = wire::StationId{9},
                .events = "127.0.0.1:" + std::to_string(receiver->port())};
    }

    memory::BufferPool pool;
    std::mutex mutex;
    std::map<std::uint64_t, wire::EventMeta> metas;
    std::map<std::uint64_t, std::vector<std::byte>> payloads;
    std::vector<delivery::Answer> held;
    std::size_t taken = 0;  // duplicates included
    bool answers = true, refuses = false;
    std::unique_ptr<delivery::Receiver> receiver;
};

/// A filter and a builder that sends to it.
struct Bench {
    explicit Bench(const std::vector<Peer>& recorders, const SelectionSpec& spec = {}, FilterOptions options = {},
                   Bytes memory = 64_MiB)
        : pool(memory) {
        options.receiver.threads = 1;
        options.tags = {*parse_stream_key("physics_Main")};
        filter = Filter::open(options, pool, [this](const Report& report) {
                     const std::scoped_lock lock(mutex);
                     reports.push_back(text_of(report));
                 }).value();
        const auto selection = Selection::open(spec);
        EXPECT_TRUE(selection) << selection.error().message();
        EXPECT_TRUE(filter->start(run, *selection, recorders));
        delivery::SenderOptions sending;
        sending.host = "127.0.0.1:" + std::to_string(filter->port());
        sending.name = "sfi-1";
        sending.run = run;
        sending.format =
            options.format == event::Format::event_3_0 ? wire::EventFormat::event_3_0 : wire::EventFormat::event_5_0;
        sending.backoff_first = 1ms;
        sending.on_final = [this](Sequence sequence, std::optional<wire::RejectReason> rejected) {
            const std::scoped_lock lock(mutex);
            answers[number(sequence)] = rejected;
        };
        builder = delivery::Sender::open(sending).value();
        format = options.format;
    }
    void send(std::uint32_t events, std::uint32_t first = 1) {
        for (auto id = first; id < first + events; ++id)
            EXPECT_TRUE(builder->send({.global_id = GlobalEventId{id},
                                       .level1_id = Level1Id{id},
                                       .tags = tags,
                                       .sent_elsewhere = id % 10 == 3},
                                      sample_event(id, format)));
    }
    [[nodiscard]] std::size_t answered() {
        const std::scoped_lock lock(mutex);
        return answers.size();
    }
    /// Every event is final, and its answer was received.
    [[nodiscard]] bool all_answered() {
        return builder->flush(30s).value_or(false) &&
               eventually([&] { return answered() == builder->stats().accepted; });
    }
    [[nodiscard]] std::size_t answered(std::optional<wire::RejectReason> how) {
        const std::scoped_lock lock(mutex);
        return static_cast<std::size_t>(
            std::ranges::count_if(answers, [&](const auto& answer) { return answer.second == how; }));
    }
    void expect_balance() const {
        const auto stats = filter->stats();
        std::uint64_t rejected = 0;
        for (const auto count : stats.rejected) rejected += count;
        EXPECT_EQ(stats.received, stats.stored + rejected + stats.returned + stats.in_hand);
    }

    memory::BufferPool pool;
    std::mutex mutex;
    std::vector<std::string> reports;
    std::map<std::uint64_t, std::optional<wire::RejectReason>> answers;
    std::vector<StreamTag> tags{*parse_stream_key("physics_Built")};
    event::Format format{};
    std::unique_ptr<Filter> filter;
    std::unique_ptr<delivery::Sender> builder;
};

TEST(Filter, EachFormatOfEventsHasTheSameNameOnTheWire) {
    EXPECT_EQ(wire::parse_event_format(event::name(event::Format::event_5_0)), wire::EventFormat::event_5_0);
    EXPECT_EQ(wire::parse_event_format(event::name(event::Format::event_3_0)), wire::EventFormat::event_3_0);
    EXPECT_EQ(wire::parse_event_format(event::name(event::Format::opaque)), wire::EventFormat::opaque);
}

TEST(Filter, WantedEventsReachTheRecorderBitExactAndTheOthersAreRejected) {
    for (const auto format : {event::Format::event_5_0, event::Format::event_3_0}) {
        Recorder recorder;
        FilterOptions options;
        options.format = format;
        Bench bench({recorder.peer()}, {.selection = "fraction:0.5"}, options);
        bench.send(200);
        ASSERT_TRUE(bench.all_answered());
        const auto stored = recorder.stored();
        EXPECT_NEAR(static_cast<double>(stored), 100, 40);
        EXPECT_EQ(bench.answered(std::nullopt), stored);
        EXPECT_EQ(bench.answered(wire::RejectReason::not_selected), 200 - stored);
        for (const auto& [id, payload] : recorder.payloads) {
            EXPECT_EQ(payload, sample_event(static_cast<std::uint32_t>(id), format));
            EXPECT_EQ(recorder.metas[id].tags, bench.tags);  // this selection names none: they stay
            EXPECT_EQ(recorder.metas[id].sent_elsewhere, id % 10 == 3);
            EXPECT_EQ(number(recorder.metas[id].level1_id), id);
        }
        EXPECT_TRUE(bench.filter->stop(120s));
        bench.expect_balance();
        EXPECT_EQ(bench.filter->stats().stored, stored);
    }
}

TEST(Filter, ABuilderIsAnsweredOnlyWhenTheRecorderHasAnswered) {
    Recorder recorder;
    recorder.answers = false;
    Bench bench({recorder.peer()});
    bench.send(50);
    ASSERT_TRUE(eventually([&] { return recorder.stored() == 50; }));
    EXPECT_EQ(bench.answered(), 0U);
    EXPECT_TRUE(eventually([&] { return bench.filter->stats().in_hand == 50; }));  // counted beside, not before
    bench.expect_balance();
    recorder.answer_held();
    ASSERT_TRUE(bench.all_answered());
    EXPECT_EQ(bench.answered(std::nullopt), 50U);
}

TEST(Filter, WhatTheRecorderRejectsIsPassedOnWithItsReason) {
    Recorder recorder;
    recorder.refuses = true;
    Bench bench({recorder.peer()});
    bench.send(10);
    ASSERT_TRUE(bench.all_answered());
    EXPECT_EQ(bench.answered(wire::RejectReason::streams_exceeded), 10U);
    bench.expect_balance();
}

TEST(Filter, WhatIsNoEventIsRejectedAsMalformed) {
    Recorder recorder;
    Bench bench({recorder.peer()});
    auto broken = sample_event(1);
    broken[5] = std::byte{0xff};
    ASSERT_TRUE(bench.builder->send({.global_id = GlobalEventId{1}, .tags = bench.tags}, broken));
    ASSERT_TRUE(bench.all_answered());
    EXPECT_EQ(bench.answered(wire::RejectReason::malformed_event), 1U);
    EXPECT_EQ(recorder.stored(), 0U);
}

TEST(Filter, WhileTheRecorderIsAwayEventsAreKeptAndTheBuilderWaits) {
    const auto port = any_port();
    auto recorder = std::make_unique<Recorder>(port);
    const auto peer = recorder->peer();
    recorder.reset();
    FilterOptions options;
    options.recorder_window = 1_MiB;
    Bench bench({peer}, {}, options, 8_MiB);
    bench.send(100);
    ASSERT_TRUE(eventually([&] { return bench.filter->stats().in_hand == 100; }));
    EXPECT_EQ(bench.answered(), 0U);
    Recorder again(port);  // the sender finds it by itself
    ASSERT_TRUE(bench.all_answered());
    EXPECT_EQ(again.stored(), 100U);
    EXPECT_TRUE(bench.filter->stop(120s));
    bench.expect_balance();
}

TEST(Filter, AFullFilterHoldsUpItsBuilderAndTakesNoMoreMemory) {
    Recorder recorder;
    recorder.answers = false;
    FilterOptions options;
    options.queue_max = 2;
    options.workers = 1;
    Bench bench({recorder.peer()}, {.selection = "sleep:1ms"}, options, 1_MiB);  // 256 events of a page each
    bench.send(400);
    ASSERT_TRUE(eventually([&] { return recorder.stored() >= 200; }));
    EXPECT_LE(bench.pool.stats().in_use.count(), (1_MiB).count());
    recorder.answer_held();
    ASSERT_TRUE(bench.all_answered());
    EXPECT_EQ(recorder.stored(), 400U);
}

/// The recorder of an event, by the names in the tests.
std::string recorder_of(std::uint64_t id) {
    return wire::preference(GlobalEventId{id}, "rec-1") > wire::preference(GlobalEventId{id}, "rec-2") ? "rec-1"
                                                                                                       : "rec-2";
}
std::size_t of_the_first(std::uint32_t events) {
    std::size_t count = 0;
    for (std::uint32_t id = 1; id <= events; ++id) count += recorder_of(id) == "rec-1" ? 1U : 0U;
    return count;
}

TEST(Filter, AnEventThatComesAgainThroughAnotherFilterReachesTheSameRecorder) {
    Recorder one, two;
    Bench bench({one.peer("rec-1"), two.peer("rec-2")}), again({two.peer("rec-2"), one.peer("rec-1")});
    constexpr std::uint32_t events = 1000;
    bench.send(events);
    again.send(events);
    ASSERT_TRUE(bench.all_answered());
    ASSERT_TRUE(again.all_answered());
    EXPECT_EQ(one.stored(), of_the_first(events));
    EXPECT_EQ(two.stored(), events - of_the_first(events));
    EXPECT_EQ(std::ranges::count_if(one.metas, [&](const auto& event) { return two.metas.contains(event.first); }), 0);
    EXPECT_EQ(one.taken + two.taken, 2U * events);
}

TEST(Filter, TheEventsOfARecorderThatIsAwayWaitForItThoughAnotherIsThere) {
    const auto port = any_port();
    auto one = std::make_unique<Recorder>(port);
    Recorder two;
    const auto first = one->peer("rec-1");
    one->answers = false;
    Bench bench({first, two.peer("rec-2")});
    constexpr std::uint32_t events = 300;
    bench.send(events);
    ASSERT_TRUE(eventually([&] { return one->stored() == of_the_first(events); }));
    ASSERT_TRUE(eventually([&] { return bench.answered() == events - of_the_first(events); }));
    one.reset();  // it dies: perhaps all that it had is on its disk
    bench.send(events, events + 1);
    const auto theirs = 2 * events - of_the_first(2 * events);
    ASSERT_TRUE(eventually([&] { return two.stored() == theirs; }));
    Recorder back(port);
    ASSERT_TRUE(bench.all_answered());
    EXPECT_EQ(two.stored(), theirs);
    EXPECT_EQ(back.stored(), of_the_first(2 * events));
    EXPECT_EQ(bench.filter->stats().moved, 0U);
}

TEST(Filter, ARecorderThatComesBackAtAnotherAddressGetsItsOwnEvents) {
    Recorder one, two, back;
    one.answers = false;
    Bench bench({one.peer("rec-1"), two.peer("rec-2")});
    constexpr std::uint32_t events = 300;
    bench.send(events);
    ASSERT_TRUE(eventually([&] { return one.stored() == of_the_first(events); }));
    ASSERT_TRUE(bench.filter->change_recorders({back.peer("rec-1"), two.peer("rec-2")}));
    ASSERT_TRUE(bench.all_answered());
    EXPECT_EQ(back.stored(), of_the_first(events));
    EXPECT_EQ(two.stored(), events - of_the_first(events));
    EXPECT_EQ(bench.filter->stats().moved, 0U);
    bench.expect_balance();
}

TEST(Filter, TheEventsOfARecorderThatLeftThePartitionGoToTheOtherAndWhatItMayHoldIsNamed) {
    Recorder one, two;
    one.answers = false;
    Bench bench({one.peer("rec-1"), two.peer("rec-2")});
    constexpr std::uint32_t events = 300;
    bench.send(events);
    ASSERT_TRUE(eventually([&] { return one.stored() + two.stored() == events; }));
    ASSERT_TRUE(bench.filter->change_recorders({two.peer("rec-2")}));
    ASSERT_TRUE(bench.all_answered());
    EXPECT_EQ(bench.answered(std::nullopt), events);
    EXPECT_EQ(two.stored(), events);
    for (const auto& [id, meta] : one.metas) EXPECT_TRUE(two.metas.at(id).sent_elsewhere);
    EXPECT_EQ(bench.filter->stats().moved, of_the_first(events));
    EXPECT_EQ(bench.filter->stats().in_doubt, of_the_first(events));
    bench.expect_balance();
    const std::scoped_lock lock(bench.mutex);
    ASSERT_FALSE(bench.reports.empty());
    EXPECT_NE(bench.reports.back().find(" may be stored there too: "), std::string::npos) << bench.reports.back();
    EXPECT_NE(bench.reports.back().find(std::to_string(one.metas.begin()->first)), std::string::npos)
        << bench.reports.back();
}

TEST(Filter, ARecorderThatIsAwayForTooLongIsLostUntilItIsBack) {
    const auto port = any_port();
    auto one = std::make_unique<Recorder>(port);
    Recorder two;
    const auto first = one->peer("rec-1");
    FilterOptions options;
    options.move_after = 50ms;
    Bench bench({first, two.peer("rec-2")}, {}, options);
    ASSERT_TRUE(eventually([&] { return bench.filter->stats().recorders_connected == 2; }));
    one.reset();
    constexpr std::uint32_t events = 300;
    bench.send(events);
    ASSERT_TRUE(bench.all_answered());
    EXPECT_EQ(two.stored(), events);
    Recorder back(port);
    ASSERT_TRUE(eventually([&] { return bench.filter->stats().recorders_connected == 2; }));
    std::uint32_t next = events;
    ASSERT_TRUE(eventually([&] {
        bench.send(32, next + 1);
        next += 32;
        return back.stored() > 0;
    }));
    ASSERT_TRUE(bench.all_answered());
    for (const auto& [id, meta] : back.metas) EXPECT_EQ(recorder_of(id), "rec-1");
    bench.expect_balance();
}

TEST(Filter, AnEventOnWhichThePluginCrashedTheFilterBeforeGoesToADebugStreamAndIsNamed) {
    Recorder recorder;
    Bench bench({recorder.peer()}, {.selection = WEIR_FAULTY_SELECTION, .workers_are = WorkersAre::threads});
    ASSERT_TRUE(bench.builder->send({.global_id = GlobalEventId{3}, .tags = bench.tags, .sent_elsewhere = true},
                                    sample_event(3)));
    ASSERT_TRUE(bench.all_answered());
    ASSERT_EQ(recorder.stored(), 1U);
    EXPECT_EQ(stream_key(recorder.metas.at(3).tags.at(0)), "debug_SelectionError");
    EXPECT_EQ(bench.filter->stats().crashed, 1U);
    const std::scoped_lock lock(bench.mutex);
    ASSERT_FALSE(bench.reports.empty());
    EXPECT_NE(bench.reports[0].find("event 3,"), std::string::npos) << bench.reports[0];
    EXPECT_NE(bench.reports[0].find("signal 6"), std::string::npos) << bench.reports[0];
}

TEST(Filter, AnEventLargerThanTheRecorderTakesIsAnsweredTooLarge) {
    Recorder recorder(any_port(), Bytes{200});
    Bench bench({recorder.peer()});
    ASSERT_TRUE(eventually([&] { return bench.filter->stats().recorders_connected == 1; }));
    bench.send(2);
    ASSERT_TRUE(bench.all_answered());
    EXPECT_EQ(bench.answered(wire::RejectReason::too_large), 2U);
    EXPECT_EQ(recorder.stored(), 0U);
    bench.expect_balance();
}

TEST(Filter, ASelectionThatThrowsCostsNoEvent) {
    Recorder recorder;
    Bench bench({recorder.peer()}, {.selection = WEIR_FAULTY_SELECTION, .workers_are = WorkersAre::threads});
    bench.send(1, 1);    // throws
    bench.send(1, 100);  // good
    ASSERT_TRUE(bench.all_answered());
    ASSERT_EQ(recorder.stored(), 2U);
    EXPECT_EQ(stream_key(recorder.metas.at(1).tags.at(0)), "debug_SelectionError");
    EXPECT_EQ(stream_key(recorder.metas.at(100).tags.at(0)), "physics_Main");
    EXPECT_EQ(bench.filter->stats().threw, 1U);
    const std::scoped_lock lock(bench.mutex);
    ASSERT_FALSE(bench.reports.empty());
    EXPECT_NE(bench.reports[0].find("event 1,"), std::string::npos) << bench.reports[0];
    EXPECT_NE(bench.reports[0].find("cannot divide by zero"), std::string::npos) << bench.reports[0];
}

TEST(Filter, AHangingThreadIsNamedAndDoesNotKeepTheFilterFromEnding) {
    Recorder recorder;
    FilterOptions options;
    options.workers = 2;
    // The plug-in's thread goes on for ever: what it lies in must not be freed.
    auto* bench =
        new Bench({recorder.peer()}, {.selection = WEIR_FAULTY_SELECTION, .workers_are = WorkersAre::threads}, options);
    bench->send(1, 2);
    bench->send(1, 100);
    ASSERT_TRUE(eventually([&] { return bench->filter->stuck(10ms) == std::vector{GlobalEventId{2}}; }));
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(bench->filter->stop(100ms));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
    EXPECT_EQ(bench->filter->stats().returned, 1U);
    bench->expect_balance();
    bench->builder->close();
}

TEST(Filter, TagsGoIntoTheHeaderWhenThatIsWanted) {
    Recorder recorder;
    FilterOptions options;
    options.stamp_tags = true;
    Bench bench({recorder.peer()}, {.selection = WEIR_FAULTY_SELECTION}, options);
    bench.send(1, 100);
    ASSERT_TRUE(bench.all_answered());
    const auto view = event::EventView::parse(recorder.payloads.at(100), event::Format::event_5_0);
    ASSERT_TRUE(view) << view.error().message();
    const auto tags = view->stream_tags();
    ASSERT_TRUE(tags);
    ASSERT_EQ(tags->size(), 1U);
    EXPECT_EQ(stream_key(tags->at(0)), "physics_Main");
    EXPECT_EQ(number(view->ids().level1_id), 100U);
}

TEST(Filter, AnotherRunIsRefused) {
    Recorder recorder;
    Bench bench({recorder.peer()});
    delivery::SenderOptions options;
    options.host = "127.0.0.1:" + std::to_string(bench.filter->port());
    options.run = RunNumber{78};
    options.format = wire::EventFormat::event_5_0;
    auto other = delivery::Sender::open(options).value();
    ASSERT_TRUE(eventually([&] { return !other->stats().last_problem.empty(); }));
    EXPECT_NE(other->stats().last_problem.find("run 77"), std::string::npos) << other->stats().last_problem;
}

}  // namespace
}  // namespace weir::selection
