// SPDX-License-Identifier: Apache-2.0
// Where a filter sends what it wants to keep: one Sender for each recorder of the partition. An event goes to the one that
// has most room; from a recorder that is gone for good, or away while others are there, events move to another one,
// marked as sent elsewhere.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/delivery/receiver.hpp"
#include "weir/delivery/sender.hpp"
#include "weir/service/peer.hpp"

namespace weir::selection {

struct RecorderOutputOptions {
    std::string name{};
    RunNumber run{};
    wire::EventFormat format{};
    Bytes window{256ULL << 20};
    std::chrono::milliseconds move_after{5000};
    std::chrono::milliseconds reopen_after{1000};  // a sender that was refused
};

/// An event under way: the answer that its builder waits for, and what keeps its bytes alive.
struct OutgoingEvent {
    delivery::Answer answer{};
    delivery::EventDescription description{};
    ConstData payload{};
    std::shared_ptr<const void> owner{};
};

class RecorderOutput {
public:
    using Answered = std::function<void(delivery::Answer, std::optional<wire::RejectReason>)>;

    /// `answered` is called from the senders' threads, once for each event that a recorder answered.
    RecorderOutput(RecorderOutputOptions options, Answered answered, std::function<void(std::string)> remark);
    ~RecorderOutput();

    [[nodiscard]] Result<> set_recorders(const std::vector<Peer>& peers);
    /// Waits for room. False: it was asked to stop, and the event is released unanswered.
    bool send(OutgoingEvent event, const std::stop_token& stop);
    /// Looks after the senders; to be called every few milliseconds by one thread.
    void look_after(SteadyTime now);
    void close();

    struct Stats {
        std::uint64_t held = 0, moved = 0, connected = 0, waits = 0;
    };
    [[nodiscard]] Stats stats() const;

private:
    struct Line {
        std::string recorder{};
        std::string address{};
        std::mutex sending{};               // one try_send at a time, so that sequences are known beforehand
        std::uint64_t next = 1;             // sequence; under `sending`
        std::mutex mutex{};                 // of `waiting`, never held in a call of the sender
        std::unordered_map<std::uint64_t, delivery::Answer> waiting{};  // by sequence
        std::optional<SteadyTime> away_since{};
        std::atomic<bool> failed{false};
        std::unique_ptr<delivery::Sender> sender{};
    };
    using Lines = std::vector<std::shared_ptr<Line>>;  // shared with the workers that are just sending

    [[nodiscard]] Result<std::shared_ptr<Line>> open(const std::string& recorder, const std::string& address);
    void final(Line& line, Sequence sequence, std::optional<wire::RejectReason> rejected);
    enum class Tried { sent, full, failed };
    [[nodiscard]] Tried try_send(Line& line, OutgoingEvent& event);
    [[nodiscard]] bool try_any(OutgoingEvent& event);
    void take_back(Line& line);
    [[nodiscard]] Lines lines() const;

    const RecorderOutputOptions options_;
    const Answered answered_;
    const std::function<void(std::string)> remark_;
    mutable std::mutex mutex_;
    std::condition_variable room_;
    Lines lines_;
    std::map<std::string, std::pair<std::string, SteadyTime>> to_open_;  // recorder: address, not before
    std::deque<OutgoingEvent> taken_back_;
    std::uint32_t connections_ = 0;   // lanes opened so far
    std::atomic<std::uint64_t> moved_{0}, waits_{0};  // statistics: relaxed
    bool closed_ = false;
};

}  // namespace weir::selection
