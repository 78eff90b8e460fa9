// SPDX-License-Identifier: Apache-2.0
// A readout as the dataflow's network sees it: requests, clears and results come in, answers go out. Data that are here
// are sent at once by the thread that received the request; requests that have to wait go to request handlers, when
// there are any.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "front_end/front_end_feed.hpp"
#include "matching/matched_intake.hpp"
#include "result_input.hpp"
#include "weir/messaging/messages.hpp"
#include "weir/readout/answer.hpp"
#include "weir/readout/request_handlers.hpp"

namespace weir::readout {

struct ReadoutNodeOptions {
    bool direct = true;    // data that are here are sent without a handler
    bool results = false;  // takes Level2Result messages: a pseudo-ROS
};

struct ReadoutNodeStats {
    std::uint64_t requests_level2 = 0, requests_building = 0;
    std::uint64_t requests_discarded = 0;                        // the queue was full
    std::uint64_t messages_malformed = 0, messages_foreign = 0;  // foreign: of a kind that this readout does not take
    std::uint64_t clears = 0;                                    // events named in clear messages
    // Answers that were sent, and the ROBs in them by state.
    std::uint64_t answers = 0, bytes = 0;
    std::array<std::uint64_t, 5> robs{};  // by wire::RobState
    [[nodiscard]] std::uint64_t of(wire::RobState state) const noexcept {
        return robs[static_cast<std::size_t>(state)];
    }
};

class ReadoutNode final : public messaging::MessageHandler {
public:
    /// All outlive the node.
    ReadoutNode(RobStore& store, ResultInput& input, messaging::MessageSender& messages,
                const ReadoutNodeOptions& options);

    /// From now on requests that must wait go there; nullptr: they are answered "not yet" at once. The handlers'
    /// answers are sent by flush().
    void use(RequestHandlers* handlers) noexcept { handlers_ = handlers; }
    void flush();
    /// Triggers of the supervisor go to both; they are foreign where both are nullptr.
    void use_matching(MatchedIntake* matching) noexcept { matching_ = matching; }
    void use_front_end(FrontEndFeed* front_end) noexcept { front_end_ = front_end; }

    void on_message(const messaging::IncomingMessage& message, SteadyTime now) override;
    void on_peer(wire::StationId, messaging::PeerChange, SteadyTime) override {}
    [[nodiscard]] std::optional<SteadyTime> step(SteadyTime) override { return std::nullopt; }

    [[nodiscard]] ReadoutNodeStats stats() const;  // any thread

private:
    void take_triggers(ConstData body);
    void serve(wire::StationId from, ConstData body);
    void send(const Answer& answer);

    RobStore& store_;
    ResultInput& input_;
    messaging::MessageSender& messages_;
    const ReadoutNodeOptions options_;
    RequestHandlers* handlers_ = nullptr;
    MatchedIntake* matching_ = nullptr;
    FrontEndFeed* front_end_ = nullptr;

    wire::DataRequest request_;
    wire::Clear clear_;
    wire::Triggers notices_;
    std::vector<Trigger> triggers_;
    AnswerMaker maker_;
    Answer answer_;

    // Written by the receiving thread alone, read by any: relaxed.
    using Count = std::atomic<std::uint64_t>;
    static void add(Count& count, std::uint64_t n = 1) noexcept {
        count.store(count.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    Count requests_level2_{0}, requests_building_{0}, requests_discarded_{0}, malformed_{0}, foreign_{0}, clears_{0};
    Count answers_{0}, bytes_{0};
    std::array<Count, 5> robs_{};
};

}  // namespace weir::readout
