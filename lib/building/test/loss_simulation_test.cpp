// SPDX-License-Identifier: Apache-2.0
// What loss costs a builder, and what it repeats without any: a builder, readouts that answer at once, and one line
// between them that carries an answer in 5 us, one behind the other. Time moves only here, and the seed decides what is
// lost.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>

#include "weir/building/builder.hpp"
#include "weir/event/rob_builder.hpp"

namespace weir::building {
namespace {

using namespace std::chrono_literals;
using wire::DataflowType;

constexpr wire::StationId dfm{1};
constexpr std::uint16_t first_readout = 100;
constexpr SourceId first_source{0x510000};
constexpr std::size_t words = 20;

struct LineFaults {
    double loss = 0;                                        // of requests and of answers, each
    std::chrono::nanoseconds stall{0}, every{0};            // the line stands still for so long, so often
    std::chrono::nanoseconds late{0};                       // one readout in ten answers so much later than the others
    std::chrono::nanoseconds delay = 20us, jitter{0};       // of each answer: at least, and up to so much more
    std::chrono::nanoseconds pause{0}, pause_every{0};      // the builder stands still for so long, so often
    std::chrono::nanoseconds absence{0}, absence_every{0};  // the first readout does
};

class Line final : public messaging::MessageSender, public BuiltSink {
public:
    Line(std::uint64_t seed, const LineFaults& faults, std::uint32_t readouts, const BuilderOptions& options)
        : faults_(faults), options_(options), random_(seed), builder_(options_, *this, pool_, *this), built_(0) {
        std::vector<Peer> peers{{.name = "dfm", .kind = StationKind::assign, .id = dfm}};
        for (std::uint32_t i = 0; i < readouts; ++i)
            peers.push_back({.name = "ros-" + std::to_string(i),
                             .kind = StationKind::readout,
                             .id = wire::StationId(static_cast<std::uint16_t>(first_readout + i)),
                             .sources = {source(i)}});
        builder_.set_peers(peers, now_);
        builder_.start_run(RunNumber{7});
    }

    void run_for(std::chrono::nanoseconds time) {
        for (const auto end = now_ + time; now_ < end;) {
            for (const auto& [ticket, incomplete] : done_)
                builder_.ended(ticket, incomplete, wire::EventOutcome::stored, "");
            done_.clear();
            assign();
            const auto again = builder_.step(now_).value_or(end);
            now_ = std::max(now_ + 1us, std::min({again, end, line_.empty() ? end : line_.begin()->first}));
            now_ = awake(now_, faults_.pause, faults_.pause_every);
            for (; !line_.empty() && line_.begin()->first <= now_; line_.erase(line_.begin()))
                deliver(line_.begin()->second);
        }
    }
    [[nodiscard]] std::uint64_t built() const noexcept { return built_; }
    [[nodiscard]] Builder::Counts counts() const { return builder_.counts(); }

    using messaging::MessageSender::send;
    using messaging::MessageSender::send_reliably;
    void send(wire::StationId to, DataflowType type, std::span<const ConstData> pieces) override {
        ASSERT_EQ(type, DataflowType::data_request);
        wire::DataRequest request;
        ASSERT_TRUE(decode(pieces[0], request));
        if (lost()) return;
        const std::uint32_t readout = number(to) - first_readout;
        for (const auto event : request.events) {
            if (lost()) continue;
            free_ = std::max(free_, now_ + faults_.delay) + 5us;
            if (faults_.every.count() > 0 && free_ > next_stall_)
                free_ += faults_.stall, next_stall_ = free_ + faults_.every;
            line_.emplace(arrival(readout), Answer{readout, request.request, event});
        }
    }
    [[nodiscard]] bool send_reliably(wire::StationId, DataflowType, std::span<const ConstData>) override {
        return true;
    }
    bool take(std::unique_ptr<BuiltEvent>& event) override {
        ++built_;
        done_.push_back({std::move(event->ticket), event->robs_lost > 0});
        event.reset();
        return true;
    }

private:
    struct Answer {
        std::uint32_t readout;
        std::uint64_t request;
        Level1Id event;
    };
    static SourceId source(std::uint32_t readout) { return SourceId{number(first_source) + readout}; }
    /// Who stands still for the last part of each period goes on when it is over.
    static SteadyTime awake(SteadyTime at, std::chrono::nanoseconds pause, std::chrono::nanoseconds every) {
        if (pause.count() == 0) return at;
        const auto into = at.time_since_epoch() % every;
        return into >= every - pause ? at - into + every : at;
    }
    SteadyTime arrival(std::uint32_t readout) {
        auto at = free_ + (readout % 10 == 9 ? faults_.late : 0ns);
        if (faults_.jitter.count() > 0) at += faults_.jitter * std::uniform_int_distribution<>(0, 999)(random_) / 1000;
        return readout == 0 ? awake(at, faults_.absence, faults_.absence_every) : at;
    }
    bool lost() { return faults_.loss > 0 && std::uniform_real_distribution<>(0, 1)(random_) < faults_.loss; }

    void assign() {
        const auto in_hand = builder_.counts().in_hand;
        if (in_hand >= options_.events_max) return;
        wire::Assign message;
        for (auto count = options_.events_max - in_hand; count > 0; --count) {
            wire::EventTicket ticket;
            ticket.global_id = GlobalEventId{++assigned_};
            ticket.level1_id = Level1Id{static_cast<std::uint32_t>(assigned_)};
            message.events.push_back(ticket);
        }
        bytes_.clear();
        encode(message, bytes_);
        builder_.on_message({.from = dfm, .type = DataflowType::assign, .run = RunNumber{7}, .body = bytes_}, now_);
    }
    void deliver(const Answer& answer) {
        rob_.clear();
        const std::vector<std::uint32_t> data(words, answer.readout);
        ASSERT_TRUE(event::append_rob(
            rob_, {.source = source(answer.readout), .run = RunNumber{7}, .level1_id = answer.event}, data));
        bytes_.clear();
        encode(wire::DataHead{.request = answer.request,
                              .level1_id = answer.event,
                              .robs = {{.source = source(answer.readout),
                                        .state = wire::RobState::here,
                                        .size = static_cast<std::uint32_t>(rob_.size())}}},
               bytes_);
        bytes_.insert(bytes_.end(), rob_.begin(), rob_.end());
        builder_.on_message({.from = wire::StationId(static_cast<std::uint16_t>(first_readout + answer.readout)),
                             .type = DataflowType::data,
                             .run = RunNumber{7},
                             .body = bytes_},
                            now_);
    }

    const LineFaults faults_;
    const BuilderOptions options_;
    std::mt19937_64 random_;
    memory::BufferPool pool_{256_MiB};
    SteadyTime now_{1h};
    SteadyTime free_{};  // the line, from then on
    SteadyTime next_stall_{1h + 10ms};
    std::multimap<SteadyTime, Answer> line_;
    std::vector<std::pair<wire::EventTicket, bool>> done_;
    std::uint64_t assigned_ = 0;
    std::vector<std::byte> bytes_, rob_;
    Builder builder_;
    std::uint64_t built_;
};

/// The window holds 800 answers, 4 ms of the line.
BuilderOptions options() {
    BuilderOptions options;
    options.events_max = 64;
    options.building_max = 32;
    options.window = {.shaping = true, .least = 2 << 10, .most = 800 * (32 + 4 * (words + event::smallest_rob_words))};
    return options;
}

/// Events built with these faults, of those without the loss; when the builder has found out that its window is not
/// what causes the loss.
double goodput(const LineFaults& faults, std::uint32_t readouts, std::uint64_t seed = 1) {
    auto lossless = faults;
    lossless.loss = 0;
    Line good(seed, lossless, readouts, options()), bad(seed, faults, readouts, options());
    std::uint64_t before[2] = {};
    for (const auto time : {300ms, 500ms}) {
        before[0] = good.built(), before[1] = bad.built();
        good.run_for(time), bad.run_for(time);
    }
    EXPECT_EQ(bad.counts().robs_lost, 0U);
    EXPECT_LT(bad.counts().late_or_double, bad.counts().answers / 1000) << "only what was lost is asked for again";
    return static_cast<double>(bad.built() - before[1]) / static_cast<double>(good.built() - before[0]);
}

TEST(LossSimulation, WithoutLossTheLineIsFullAndNothingIsReRequested) {
    for (const auto readouts : {20U, 100U, 200U}) {
        Line line(1, {}, readouts, options());
        line.run_for(500ms);
        EXPECT_GT(line.built(), 450ms / (readouts * 5us));
        EXPECT_EQ(line.counts().re_requested, 0U);
    }
}

TEST(LossSimulation, OnePercentOfRequestsAndOfAnswersLostCostLessThanATenth) {
    EXPECT_GE(goodput({.loss = 0.01}, 100), 0.9);
    EXPECT_GE(goodput({.loss = 0.01}, 20), 0.9);
}

TEST(LossSimulation, FivePercentOfRequestsAndOfAnswersLostCostLessThanAQuarter) {
    EXPECT_GE(goodput({.loss = 0.05}, 100), 0.75);
    EXPECT_GE(goodput({.loss = 0.05}, 20), 0.75);
}

/// By seed: a test each, because a sanitizer needs many seconds for one.
class HeavyLoss : public testing::TestWithParam<std::uint64_t> {};

TEST_P(HeavyLoss, ATenthOfRequestsAndOfAnswersCostsLessThanAQuarterAndStopsNothing) {
    for (const auto readouts : {20U, 200U})
        EXPECT_GE(goodput({.loss = 0.1}, readouts, GetParam()), 0.75) << readouts << " readouts";
}

TEST_P(HeavyLoss, AFifthOfRequestsAndOfAnswersCostsLessThanAQuarterAndStopsNothing) {
    for (const auto readouts : {20U, 200U})
        EXPECT_GE(goodput({.loss = 0.2}, readouts, GetParam()), 0.75) << readouts << " readouts";
}

TEST_P(HeavyLoss, StopsNothingWhenTheLineStandsStill) {
    EXPECT_GE(goodput({.loss = 0.1, .stall = 9ms, .every = 30ms}, 200, GetParam()), 0.75);
}

TEST_P(HeavyLoss, StopsNothingWhenTheBuilderOrAReadoutStandsStill) {
    EXPECT_GE(goodput({.loss = 0.2, .pause = 8ms, .pause_every = 20ms}, 100, GetParam()), 0.6) << "builder";
    EXPECT_GE(goodput({.loss = 0.1, .stall = 8ms, .every = 11ms, .pause = 8ms, .pause_every = 10ms}, 20, GetParam()),
              0.6)
        << "line and builder";
    EXPECT_GE(goodput({.loss = 0.2, .absence = 4ms, .absence_every = 20ms}, 20, GetParam()), 0.6) << "readout";
}

TEST_P(HeavyLoss, StopsNothingWhenAnswersComeInAnotherOrder) {
    EXPECT_GE(goodput({.loss = 0.1, .delay = 300us, .jitter = 500us}, 200, GetParam()), 0.75);
}

INSTANTIATE_TEST_SUITE_P(Seeds, HeavyLoss, testing::Values(1U, 2U));

TEST(LossSimulation, ABuilderThatStandsStillAsksForNothingTwice) {
    for (const auto readouts : {20U, 200U}) {
        Line line(1, {.pause = 8ms, .pause_every = 20ms}, readouts, options());
        line.run_for(500ms);
        EXPECT_EQ(line.counts().re_requested, 0U);
        Line both(1, {.stall = 8ms, .every = 11ms, .pause = 8ms, .pause_every = 10ms}, readouts, options());
        both.run_for(500ms);
        EXPECT_EQ(both.counts().re_requested, 0U) << "the line, too";
    }
}

TEST(LossSimulation, AReadoutThatStandsStillForShortGetsNoReRequest) {
    Line line(1, {.absence = 4ms, .absence_every = 20ms}, 100, options());
    line.run_for(500ms);
    EXPECT_EQ(line.counts().re_requested, 0U);
}

TEST(LossSimulation, AnswersThatComeInAnotherOrderAreAskedForTwiceAtTheBeginningOnlyAndTheLineStaysFull) {
    Line line(1, {.delay = 300us, .jitter = 500us}, 100, options());
    line.run_for(300ms);
    const auto re_requested = line.counts().re_requested, built = line.built();
    line.run_for(500ms);
    EXPECT_EQ(line.counts().re_requested, re_requested);
    EXPECT_LE(re_requested, 100U * 4U);
    EXPECT_GT(line.built() - built, 450ms / (100 * 5us));
}

TEST(LossSimulation, ALineThatStandsStillNowAndThenIsNoLoss) {
    Line line(1, {.stall = 9ms, .every = 30ms}, 100, options());
    line.run_for(500ms);
    EXPECT_EQ(line.counts().re_requested, 0U);
}

TEST(LossSimulation, OfALineThatStandsStillForLongAFewAreReRequested) {
    Line line(1, {.stall = 70ms, .every = 100ms}, 100, options());
    line.run_for(1000ms);
    EXPECT_LE(line.counts().re_requested, 8U * 6U);
    EXPECT_GT(line.counts().asked, 50'000U);
}

TEST(LossSimulation, ReadoutsThatAreSlowerThanTheOthersGetNoReRequests) {
    Line line(1, {.late = 4ms}, 100, options());
    line.run_for(500ms);
    EXPECT_EQ(line.counts().re_requested, 0U);
}

TEST(LossSimulation, ReadoutsThatAreMuchSlowerThanTheOthersGetReRequestsAtTheBeginningOnly) {
    Line line(1, {.late = 60ms}, 20, options());
    line.run_for(500ms);
    const auto first = line.counts().re_requested;
    line.run_for(2s);
    EXPECT_EQ(line.counts().re_requested, first);
    EXPECT_LE(first, 2U * 8U * 2U);
}

}  // namespace
}  // namespace weir::building
