// SPDX-License-Identifier: Apache-2.0
// Sends the events of a source over a number of connections to one or several recorders, at a rate if one is given,
// until each has its answer. The connections are a delivery::SenderGroup: the next event goes to one of the least
// loaded, so that a slow connection holds up neither the others nor the order of lumi blocks.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "send/answer_times.hpp"
#include "send/rate_pacer.hpp"
#include "weir/base/bytes.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/report.hpp"
#include "weir/base/result.hpp"
#include "weir/delivery/sender_group.hpp"
#include "weir/memory/migrating_pool.hpp"
#include "weir/transport/tls.hpp"
#include "weir/wire/reject_reason.hpp"
#include "weir/workload/event_source.hpp"

namespace weir::app {

struct SendingOptions {
    std::vector<std::string> to{};          // "host:port" of each recorder
    std::string name = "send";              // of the sender
    std::uint32_t connections = 1;          // to each recorder
    std::optional<std::uint64_t> events{};  // nothing: until stop()
    double rate_hz = 0;                     // events a second over all connections; 0: as fast as they are taken
    Bytes window{0};                        // of each connection; 0: 256 MiB shared out, 4 MiB at least
    // Without a connection; 0: never. Of several recorders one that is away for so long is given up: what it has not
    // answered goes to the others.
    std::chrono::milliseconds give_up_after{60'000};
    transport::TlsFiles tls{};                      // none: plain TCP
    std::chrono::milliseconds answers_max{10'000};  // how long stop() waits for answers
    Reporter report{};                              // of recorders that are lost, from any thread
};

inline constexpr std::uint32_t connections_max = 1000;  // together

struct SendingCounts {
    // sent = acknowledged + rejected + unanswered
    std::uint64_t sent = 0;  // handed to the senders, which keep them until they are answered or refuse them at once
    std::uint64_t acknowledged = 0;
    std::uint64_t rejected = 0;
    std::uint64_t unanswered = 0;
    std::array<std::uint64_t, wire::reject_reason_count> rejected_by{};  // by wire::index(reason)
    std::uint64_t copies = 0;  // stream tags of the events acknowledged: how often they should be stored
    std::uint64_t bytes = 0;   // payload of the events sent
    std::uint64_t bytes_answered = 0;
    std::uint64_t resent = 0;  // messages, after lost connections
    std::uint64_t reconnects = 0;
    std::uint64_t moved = 0;      // events of one recorder that were given to another
    std::uint64_t in_doubt = 0;   // of these: the first one may have recorded them too
    std::uint32_t connected = 0;  // connections, now
    double seconds = 0;           // from the first event sent to the last answer, or till now
    std::string last_problem{};   // of a connection; empty when there was none
    std::string first_refusal{};  // of an event that the recorder does not take; empty when there was none

    [[nodiscard]] bool complete() const noexcept { return acknowledged == sent; }
};

class Sending {
public:
    /// Begins at once. Source and clock outlive it. Errc::usage for options that a sender cannot have.
    [[nodiscard]] static Result<std::unique_ptr<Sending>> start(SendingOptions options, workload::EventSource& source,
                                                                const Clock& clock = default_clock());
    ~Sending();  // as abandon()

    /// Waits for the end: true; false when the time is over.
    bool wait(std::chrono::milliseconds timeout);

    /// Sends no more; ends when every event sent has its answer, or answers_max has passed.
    void stop();
    /// Ends without waiting for answers.
    void abandon();

    /// At any time; after the end they do not change any more.
    [[nodiscard]] SendingCounts counts() const;
    /// Why a sender failed for good (refused by the recorder, too long without a connection): the first, which stopped
    /// all.
    [[nodiscard]] std::optional<Error> failure() const;

    /// How long events that were acknowledged waited for that, from the moment that the rate gave them, or else from
    /// when they were ready.
    [[nodiscard]] const AnswerTimes& answer_times() const noexcept { return answer_times_; }

    [[nodiscard]] static const Clock& default_clock();

private:
    Sending(SendingOptions options, workload::EventSource& source, const Clock& clock);
    [[nodiscard]] Result<> open();
    void send_events();
    [[nodiscard]] bool send(workload::SourcedEvent event);
    void wait_for_answers();
    void stop_by(SteadyTime answers_until);

    const SendingOptions options_;
    workload::EventSource& source_;
    const Clock& clock_;
    RatePacer pacer_;
    AnswerTimes answer_times_;
    std::stop_source stop_;                       // of those that send
    std::atomic<std::uint64_t> next_event_{0};    // relaxed: only the number counts
    std::atomic<std::uint64_t> copies_{0};        // relaxed, the same
    std::atomic<std::int64_t> first_sent_ns_{0};  // relaxed: for the statistics
    std::atomic<std::int64_t> last_answer_ns_{0};
    std::atomic<std::int64_t> ended_ns_{0};

    mutable std::mutex mutex_;  // of the next ones
    std::condition_variable changed_;
    std::optional<SteadyTime> answers_until_;  // nothing: it was not stopped
    std::string first_refusal_;
    std::uint32_t sending_ = 0;  // threads
    bool ended_ = false;

    memory::MigratingPool pool_{{.chunk = 128_KiB}};  // of what threads that send make and those of answers free
    std::optional<delivery::SenderGroup> group_;
    std::vector<std::jthread>
        threads_;  // that send, and one that waits; the last member: they end before what they use is gone
};

}  // namespace weir::app
