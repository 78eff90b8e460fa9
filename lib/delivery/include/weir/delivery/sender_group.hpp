// SPDX-License-Identifier: Apache-2.0
// Where a filter sends what it wants to keep: one Sender for each recorder of the partition. An event belongs to one recorder,
// by its global id (weir/wire/recorder_choice.hpp), and waits for it while it is away: so an event that comes again through
// another filter meets its duplicate there. Only a recorder that is lost, because it left the partition or stayed away for
// `move_after`, gives its events to the others; those that it may hold already are marked as sent elsewhere and named.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
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
#include "weir/wire/peer.hpp"

namespace weir::delivery {

struct RecorderOutputOptions {
    std::string name{};
    RunNumber run{};
    wire::EventFormat format{};
    Bytes window{256ULL << 20};
    std::chrono::milliseconds move_after{60'000};  // away for so long while another recorder is connected: lost
    std::chrono::milliseconds reopen_after{1000};  // a sender that was refused
};

/// An event under way: the answer that its builder waits for, and what keeps its bytes alive.
struct OutgoingEvent {
    Answer answer{};
    EventDescription description{};
    ConstData payload{};
    std::shared_ptr<const void> owner{};
};

class RecorderOutput {
public:
    using Answered = std::function<void(Answer, std::optional<wire::RejectReason>)>;

    /// `answered` is called from the senders' threads, once for each event that a recorder answered.
    RecorderOutput(RecorderOutputOptions options, Answered answered, std::function<void(std::string)> remark);
    ~RecorderOutput();

    /// The recorders of the partition. Events of one that is no longer among them go to the others. Error: an address cannot
    /// be used; what was set before stays.
    [[nodiscard]] Result<> set_recorders(const std::vector<Peer>& peers);
    /// Waits until the event's recorder has room. False: it was asked to stop, and the event is released unanswered.
    bool send(OutgoingEvent event, const std::stop_token& stop);
    /// Looks after the senders; to be called every few milliseconds by one thread.
    void look_after(SteadyTime now);
    void close();

    struct Stats {
        std::uint64_t held = 0, connected = 0, waits = 0;
        std::uint64_t moved = 0;     // given to another recorder than the one that they belong to
        std::uint64_t in_doubt = 0;  // of the events of lost recorders: marked as sent before, here or by the builder
    };
    [[nodiscard]] Stats stats() const;

private:
    struct Line {
        std::mutex sending{};               // one try_send at a time, so that sequences are known beforehand
        std::uint64_t next = 1;             // sequence; under `sending`
        std::mutex mutex{};                 // of `waiting`, never held in a call of the sender
        std::unordered_map<std::uint64_t, Answer> waiting{};  // by sequence
        std::atomic<bool> failed{false};
        std::unique_ptr<Sender> sender{};
    };
    struct Recorder {
        std::string name{};
        std::string address{};
        std::shared_ptr<Line> line{};  // shared with the workers that are just sending; nullptr: to be opened
        SteadyTime open_at{};
        SteadyTime::duration away{};  // while another one was connected
        bool lost = false;            // away for `move_after`; until it is connected again
    };
    struct TakenBack {
        OutgoingEvent event{};
        std::string recorder{};  // that had it
    };
    enum class Tried { sent, full, failed };

    [[nodiscard]] Result<std::shared_ptr<Line>> open(const std::string& address);
    void final(Line& line, Sequence sequence, std::optional<wire::RejectReason> rejected);
    [[nodiscard]] Tried try_send(Line& line, OutgoingEvent& event);
    [[nodiscard]] std::vector<TakenBack> take_back(const std::string& recorder, Line& line);
    [[nodiscard]] std::string lost(const std::string& recorder, const std::string& why);
    void send_taken_back();
    /// With the mutex. The recorder that the event belongs to; nullptr: there is none.
    [[nodiscard]] Recorder* recorder_of(GlobalEventId event);

    const RecorderOutputOptions options_;
    const Answered answered_;
    const std::function<void(std::string)> remark_;
    mutable std::mutex mutex_;
    std::condition_variable room_;
    std::vector<Recorder> recorders_;     // by name
    std::vector<TakenBack> taken_back_;   // bounded by the pool that holds their bytes
    std::optional<SteadyTime> looked_at_{};  // of the thread that looks after them
    std::uint32_t connections_ = 0;   // lanes opened so far
    std::atomic<std::uint64_t> moved_{0}, in_doubt_{0}, waits_{0};  // statistics: relaxed
    bool closed_ = false;
};

}  // namespace weir::delivery
