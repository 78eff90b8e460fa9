// SPDX-License-Identifier: Apache-2.0
#include "weir/service/station_frame.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "weir/serial/reader.hpp"
#include "weir/service/control_client.hpp"

namespace weir::service {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using Outcome = StationAnswer::Outcome;

/// Does what a test sets, and records its calls.
class ToyStation final : public Station {
public:
    Result<> configure() override { return note("configure"); }
    Peer self() const override { return {"toy", StationKind::build, wire::StationId{9}, "127.0.0.1:1234", "", {}}; }
    Result<> connect(const std::vector<Peer>& peers) override {
        return note("connect " + std::to_string(peers.size()));
    }
    Result<> start(RunNumber run) override { return note("start " + std::to_string(number(run))); }
    Result<> stop(std::chrono::milliseconds deadline) override {
        return note("stop " + std::to_string(deadline.count()));
    }
    Result<> disconnect() override { return note("disconnect"); }
    Result<> unconfigure() override { return note("unconfigure"); }
    Result<> change_peers(const std::vector<Peer>& peers) override {
        return note("change_peers " + std::to_string(peers.size()));
    }
    StationStatus status() const override {
        return {.ledger = {.received = 3, .stored = 2, .in_hand = 1}, .counters = {{"requests", 7}}};
    }

    std::vector<std::string> asked;  // read after an answer
    std::string fails;               // the transition that fails
    std::string throws;
    std::atomic<bool> hangs{false};

private:
    Result<> note(std::string what) {
        asked.push_back(what);
        while (hangs) std::this_thread::sleep_for(1ms);
        if (!fails.empty() && what.starts_with(fails)) return fail(Errc::io, "the disk is gone");
        if (!throws.empty() && what.starts_with(throws)) throw std::runtime_error("plug-in");
        return {};
    }
};

class Frame : public ::testing::Test {
protected:
    void begin(StationFrameOptions options = {}) {
        options.name = "toy";
        options.kind = StationKind::build;
        options.id = wire::StationId{9};
        auto started = StationFrame::start(station, options, services);
        ASSERT_TRUE(started) << started.error().message();
        frame = std::move(*started);
        client.emplace(frame->control_address());
    }
    StationAnswer ask(Transition transition, std::optional<std::chrono::milliseconds> deadline = {}) {
        StationRequest request{.transition = transition, .deadline = deadline};
        if (transition == Transition::start) request.run = RunNumber{91668};
        return frame->request(std::move(request));
    }
    void run() {
        for (const auto transition : {Transition::configure, Transition::connect, Transition::start})
            ASSERT_EQ(ask(transition).outcome, Outcome::done) << name(transition);
    }
    ControlAnswer post(const std::string& body, const std::string& path = "/transition") {
        auto answer = client->post(path, body);
        EXPECT_TRUE(answer) << answer.error().message();
        return answer.value_or(ControlAnswer{});
    }

    SystemClock clock;
    Metrics metrics;
    std::vector<SubmittedReport> reported;
    std::mutex reported_mutex;
    struct Sink : ReportSink {
        explicit Sink(Frame& owner) : test(owner) {}
        void show(const SubmittedReport& report) override {
            const std::scoped_lock lock(test.reported_mutex);
            test.reported.push_back(report);
        }
        Frame& test;
    };
    static std::vector<std::unique_ptr<ReportSink>> sinks(Frame& test) {
        std::vector<std::unique_ptr<ReportSink>> all;
        all.push_back(std::make_unique<Sink>(test));
        return all;
    }
    Reports reports{"toy", clock, sinks(*this)};
    ThreadAccounts threads;
    Timers timers{clock};
    SampledEvents samples{0ms};
    StationServices services{clock, reports, metrics, threads, timers, samples};
    ToyStation station;
    std::unique_ptr<StationFrame> frame;
    std::optional<ControlClient> client;
};

TEST_F(Frame, ExecutesTransitionsAndWindsDown) {
    begin();
    run();
    EXPECT_EQ(frame->state(), StationState::running);
    EXPECT_TRUE(frame->wind_down(60s));
    EXPECT_EQ(frame->state(), StationState::initial);
    EXPECT_THAT(station.asked,
                ElementsAre("configure", "connect 0", "start 91668", "stop 54000", "disconnect", "unconfigure"));
    EXPECT_EQ(frame->history().size(), 6U);
}

TEST_F(Frame, IsDrivenOverHttp) {
    begin();
    EXPECT_EQ(client->request({.transition = Transition::configure}), StationState::configured);
    const Peer peer{"ros-1", StationKind::readout, wire::StationId{1}, "127.0.0.1:1", "", {}};
    EXPECT_EQ(client->request({.transition = Transition::connect, .peers = {peer, peer}}), StationState::connected);
    const auto early = client->request({.transition = Transition::pause});
    ASSERT_FALSE(early);
    EXPECT_EQ(early.error().code, Errc::refused);
    EXPECT_THAT(early.error().message(), HasSubstr("pause is not possible in state connected"));
    EXPECT_EQ(client->request({.transition = Transition::start, .run = RunNumber{7}}), StationState::running);
    EXPECT_EQ(client->request({.kind = StationRequestKind::change_peers, .peers = {peer}}), StationState::running);
    const auto status = client->status(60s);
    ASSERT_TRUE(status) << status.error().message();
    EXPECT_EQ(status->state, StationState::running);
    EXPECT_EQ(status->run, RunNumber{7});
    EXPECT_EQ(status->self, station.self());
    EXPECT_EQ(status->status.counters.at("requests"), 7);
    EXPECT_TRUE(status->status.ledger.balances());
    EXPECT_FALSE(frame->wait_for_exit(0ms));
    EXPECT_EQ(client->request({.kind = StationRequestKind::exit}), StationState::running);
    EXPECT_TRUE(frame->wait_for_exit(0ms));
    EXPECT_TRUE(frame->wind_down(60s));
    EXPECT_THAT(station.asked, ElementsAre("configure", "connect 2", "start 7", "change_peers 1", "stop 54000",
                                           "disconnect", "unconfigure"));
}

TEST_F(Frame, AFailedTransitionSaysWhyAndStaysInTheStatusUntilOneGoesWell) {
    begin();
    station.fails = "configure";
    const auto answer = post(R"({"name":"configure"})");
    EXPECT_EQ(answer.status, 409U);
    EXPECT_EQ(answer.error(), "the disk is gone");
    EXPECT_EQ(client->status(60s)->error, "the disk is gone");
    EXPECT_EQ(frame->state(), StationState::initial);
    station.fails.clear();
    EXPECT_EQ(ask(Transition::configure).outcome, Outcome::done);
    EXPECT_EQ(client->status(60s)->error, std::nullopt);
}

TEST_F(Frame, AnExceptionInATransitionIsAFailureOfTheStation) {
    begin();
    station.throws = "configure";
    EXPECT_EQ(ask(Transition::configure).error, "configure threw: plug-in");
    EXPECT_EQ(frame->state(), StationState::initial);
}

TEST_F(Frame, ALateTransitionIsAnsweredAtItsDeadlineReportedByNameAndGoesOn) {
    begin();
    station.hangs = true;
    const auto answer = post(R"({"name":"configure","deadline":0.02})");
    EXPECT_EQ(answer.status, 504U);
    EXPECT_THAT(answer.error(), HasSubstr("configure is not done after 20ms"));
    EXPECT_EQ(client->status(60s)->transition->name, "configure");
    EXPECT_THAT(ask(Transition::connect).error, HasSubstr("configure is under way"));
    station.hangs = false;
    while (frame->state() != StationState::configured) std::this_thread::sleep_for(1ms);
    const std::scoped_lock lock(reported_mutex);
    ASSERT_EQ(reported.size(), 1U);
    EXPECT_EQ(reported[0].what, "configure is past its deadline");
}

TEST_F(Frame, AStopThatHangsEndsTheProcess) {
    std::atomic<int> ended{0};
    begin({.grace = 20ms, .end_process = [&](int code) { ended = code; }});
    run();
    station.hangs = true;
    EXPECT_EQ(ask(Transition::stop, 10ms).outcome, Outcome::late);
    while (ended == 0) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(ended, exit_hopeless);
    station.hangs = false;
    EXPECT_TRUE(frame->wind_down(60s));
    const std::scoped_lock lock(reported_mutex);
    ASSERT_EQ(reported.size(), 2U);
    EXPECT_EQ(reported[1].severity, Severity::fatal);
    EXPECT_EQ(reported[1].what, "stop hangs");
}

TEST_F(Frame, WindsDownThroughFailures) {
    begin();
    run();
    station.fails = "stop";
    const auto down = frame->wind_down(60s);
    ASSERT_FALSE(down);
    EXPECT_EQ(down.error().message(), "the disk is gone");
    EXPECT_EQ(frame->state(), StationState::initial);
}

TEST_F(Frame, HostileRequestsGetOneLineAndChangeNothing) {
    begin();
    for (const char* body : {"", "{", "[]", R"({"name":"explode"})", R"({"name":"start"})",
                             R"({"name":"configure","x":1})", "\xff\xfe\x00", R"({"name":"configure","peers":[1]})"}) {
        const auto answer = post(body);
        EXPECT_EQ(answer.status, 400U) << body;
        EXPECT_EQ(std::ranges::count(answer.body, '\n'), 1) << answer.body;
    }
    EXPECT_EQ(post(std::string(9U << 20, ' ')).status, 413U);
    EXPECT_EQ(post("{}", "/status").status, 405U);
    EXPECT_EQ(post("{}", "/elsewhere").status, 404U);
    EXPECT_EQ(frame->state(), StationState::initial);
    EXPECT_TRUE(station.asked.empty());
}

template <class T>
T object_in(const Result<ControlAnswer>& answer) {
    EXPECT_TRUE(answer && answer->status == 200U);
    if (!answer) return {};
    serial::Reader reader(as_data(answer->body));
    const auto object = reader.read_any<T>();
    EXPECT_TRUE(object && *object && reader.at_end());
    return object && *object ? **object : T{};
}

TEST_F(Frame, GivesItsStateAndASampledEventAsObjects) {
    begin({.read_sample = [](ConstData event) -> Result<SampledEvent> {
        if (event.size() != 8) return fail(Errc::corrupt, "this is no event");
        return SampledEvent{.station = "toy",
                            .global_id = 1ULL << 40,
                            .stream_tags = {"physics_Main"},
                            .fragments = {{0x7c0000, {1, 2}}}};
    }});
    run();
    const auto snapshot = object_in<StationSnapshot>(client->get("/status/object"));
    EXPECT_EQ(snapshot.station, "toy");
    EXPECT_EQ(snapshot.kind, "build");
    EXPECT_EQ(snapshot.state, "running");
    EXPECT_EQ(snapshot.run, 91668);
    EXPECT_EQ(snapshot.received, 3U);
    EXPECT_THAT(snapshot.counters, ElementsAre(NamedNumber{"requests", 7}));
    EXPECT_GT(snapshot.time, 1.6e9);
    EXPECT_EQ(client->get("/sample/object")->status, 204U);
    samples.offer(as_data("no event"), SteadyTime{1h});
    const auto event = object_in<SampledEvent>(client->get("/sample/object"));
    EXPECT_EQ(event.global_id, 1ULL << 40);
    EXPECT_THAT(event.fragments, ElementsAre(SampledFragment{0x7c0000, {1, 2}}));
    samples.offer(as_data("broken"), SteadyTime{2h});
    EXPECT_EQ(client->get("/sample/object")->status, 500U);
    EXPECT_THAT(client->get("/sample/object")->body, HasSubstr("this is no event"));
}

TEST_F(Frame, AStationThatSamplesNothingHasNoSuchPath) {
    begin();
    EXPECT_EQ(client->get("/sample/object")->status, 404U);
    EXPECT_EQ(object_in<StationSnapshot>(client->get("/status/object")).run, -1);
}

TEST_F(Frame, AnswersQuestionsAboutMetricsThreadsSamplesAndAlarms) {
    begin();
    EXPECT_EQ(client->get("/sample")->status, 204U);
    samples.offer(as_data(std::string_view("an\0event", 8)), SteadyTime{1h});
    EXPECT_EQ(client->get("/sample")->body, std::string_view("an\0event", 8));
    EXPECT_THAT(client->get("/metrics")->body, HasSubstr("weir_station_state{state=\"initial\"} 1"));
    EXPECT_THAT(client->get("/metrics")->body, HasSubstr("weir_ledger_received_total{what=\"events\"} 3"));
    for (const char* thread :
         {"frame", "watchdog", "http", "timers"}) {  // each enters the account when it begins to run
        const auto name = '"' + std::string(thread) + '"';
        const auto begin = std::chrono::steady_clock::now();
        while (!client->get("/threads")->body.contains(name) && std::chrono::steady_clock::now() - begin < 1min)
            std::this_thread::yield();
        EXPECT_THAT(client->get("/threads")->body, HasSubstr(name));
    }
    reports.submit({.severity = Severity::error, .what = "ROB 0x7c0000 is lost", .alarm = "rob lost"});
    EXPECT_THAT(client->get("/alarms")->body, HasSubstr("ROB 0x7c0000 is lost"));
    EXPECT_EQ(post(R"({"name":"rob lost"})", "/alarms/acknowledge").status, 400U);
    EXPECT_EQ(post(R"({"name":"other","person":"Marie"})", "/alarms/acknowledge").status, 404U);
    EXPECT_EQ(post(R"({"name":"rob lost","person":"Marie"})", "/alarms/acknowledge").status, 200U);
    EXPECT_EQ(client->status(60s)->alarms.at(0).acknowledged_by, "Marie");
}

TEST_F(Frame, AReadOnlyControlPortTakesNoRequests) {
    begin({.read_only = true});
    EXPECT_EQ(post(R"({"name":"configure"})").status, 404U);
    EXPECT_EQ(client->status(60s)->state, StationState::initial);
}

TEST_F(Frame, ControlPortsThatAreTakenAreAnError) {
    begin();
    const auto second = StationFrame::start(station, {.control = frame->control_address()}, services);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().os_errno, EADDRINUSE);
    const ControlClient closed("127.0.0.1:1");
    EXPECT_FALSE(closed.get("/status"));
}

}  // namespace
}  // namespace weir::service
