// SPDX-License-Identifier: Apache-2.0
// Request handlers: threads that make answers, and wait for data that is not here yet. One thread gives requests and
// takes answers to send them. Between them are a bounded queue of requests and a fixed number of answers. A handler
// that finds no free answer waits until some were sent. A request that finds the queue full is discarded: its station
// will re-request.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "weir/base/named_thread.hpp"
#include "weir/readout/answer.hpp"

namespace weir::readout {

/// How a handler waits for data: yields its processor in a loop; spins; or sleeps until it is woken.
enum class WaitStrategy : std::uint8_t { yield, spin, park };
[[nodiscard]] const char* name(WaitStrategy strategy) noexcept;
[[nodiscard]] std::optional<WaitStrategy> parse_wait_strategy(std::string_view text) noexcept;

struct RequestHandlerOptions {
    std::uint32_t handlers = 4;
    WaitStrategy strategy = WaitStrategy::park;
    std::chrono::microseconds wait_max{20'000};  // for the data of one request; then it is answered "not yet"
    std::uint32_t requests_max = 1024;           // that wait for a handler
};

struct RequestHandlerStats {
    std::uint64_t handled = 0;    // requests
    std::uint64_t answers = 0;    // events
    std::uint64_t waits = 0;      // answers whose data was not here at once
    std::uint64_t not_yet = 0;    // answers with this state for a ROB, in spite of a wait
    std::uint64_t discarded = 0;  // requests that were in the queue when it stopped
};

class RequestHandlers {
public:
    /// `answers_made` is called by a handler when there are answers where there were none: flush() is then to be called
    /// soon. `missing` (may be empty) is called before a handler waits for an event. The store and clock outlive this.
    RequestHandlers(RobStore& store, const RequestHandlerOptions& options, const Clock& clock,
                    std::function<void()> answers_made, std::function<void(Level1Id, SteadyTime)> missing = {});
    ~RequestHandlers();  // stop()

    // One thread: that which receives.

    /// Takes the request, and leaves memory of an earlier one in its place. False: the queue is full.
    [[nodiscard]] bool give(wire::StationId from, wire::DataRequest& request);

    /// Calls send(const Answer&) for each answer that is made, in the order in which they were made.
    template <class Send>
    void flush(Send&& send) {
        take_made(sending_);
        for (const auto& answer : sending_) send(std::as_const(*answer));
        release(sending_);
    }

    /// Handlers stop after the answer that they make; requests in the queue are discarded. Any thread; once.
    void stop();

    [[nodiscard]] RequestHandlerStats stats() const;
    [[nodiscard]] std::size_t waiting_requests() const;

private:
    struct Job {
        wire::StationId from{};
        wire::DataRequest request;
    };
    using AnswerMemory = std::vector<std::unique_ptr<Answer>>;
    struct alignas(64) Worker {
        std::atomic<std::uint64_t> handled{0}, answers{0}, waits{0}, not_yet{0};
    };

    void work(Worker& worker, const std::stop_token& stop);
    void handle(const Job& job, Worker& worker, AnswerMaker& maker, const std::stop_token& stop);
    void wait_for_data(Level1Id event, std::span<const SourceId> robs, SteadyTime deadline,
                       const std::stop_token& stop);
    [[nodiscard]] bool take_job(Job& job, const std::stop_token& stop);
    [[nodiscard]] std::unique_ptr<Answer> take_free(const std::stop_token& stop);
    void put_made(std::unique_ptr<Answer> answer);
    void take_made(AnswerMemory& into);
    void release(AnswerMemory& answers);

    RobStore& store_;
    const RequestHandlerOptions options_;
    const Clock& clock_;
    const std::function<void()> answers_made_;
    const std::function<void(Level1Id, SteadyTime)> missing_;

    mutable std::mutex jobs_mutex_;
    std::condition_variable_any jobs_there_;
    std::vector<Job> jobs_;  // a ring
    std::size_t first_job_ = 0, job_count_ = 0;
    std::uint64_t discarded_ = 0;

    std::mutex answers_mutex_;
    std::condition_variable_any answer_free_;
    AnswerMemory free_;
    AnswerMemory made_;
    AnswerMemory sending_;  // of the receiving thread

    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<NamedThread> threads_;  // last: they stop before what they use is gone
};

}  // namespace weir::readout
