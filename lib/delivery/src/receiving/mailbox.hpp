// SPDX-License-Identifier: Apache-2.0
// How other threads reach a receiver thread: they add a request and wake its event loop. Any number of
// requests between two visits costs one wake-up. It is shared between its thread and everything that may
// still write to it after the thread has ended (credit of events that are in flight).
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/ids.hpp"
#include "weir/transport/event_loop.hpp"
#include "weir/transport/socket.hpp"
#include "weir/wire/reject_reason.hpp"

namespace weir::delivery {

using ConnectionId = std::uint64_t;

struct Requests {
    struct End {  // a connection, or all of a run
        std::optional<ConnectionId> connection;
        RunNumber run{};
        wire::ByeReason reason{};
        std::string text;
    };
    std::vector<transport::Socket> arrivals;  // new connections
    std::vector<ConnectionId> touched;        // answers or credit wait to be sent
    std::vector<End> ends;
    bool memory_freed = false;
    bool reception_freed = false;  // an event is whole, or will not be: others may begin
    bool sink_has_room = false;
    bool make_room = false;          // all connections are taken: those that are idle end
    std::optional<SteadyTime> stop;  // until when answers may come
};

class Mailbox {
public:
    explicit Mailbox(transport::EventLoop event_loop) : loop(std::move(event_loop)) {}

    template <class Write>
    void request(Write&& write) {
        bool wake = false;
        {
            const std::scoped_lock lock(mutex_);
            write(requests_);
            // The owner looks again before it waits, so it need not wake itself.
            wake = !std::exchange(waiting_, true) && std::this_thread::get_id() != owner_;
        }
        if (wake) loop.wake();
    }

    [[nodiscard]] Requests take() {
        const std::scoped_lock lock(mutex_);
        waiting_ = false;
        return std::exchange(requests_, {});
    }

    /// The calling thread is the one that waits on the loop.
    void own() {
        const std::scoped_lock lock(mutex_);
        owner_ = std::this_thread::get_id();
    }
    /// Requests are there; the owner looks before it waits.
    [[nodiscard]] bool waiting() {
        const std::scoped_lock lock(mutex_);
        return waiting_;
    }

    transport::EventLoop loop;  // waited on by the owner's thread only; wake() by all

private:
    std::mutex mutex_;
    Requests requests_;
    bool waiting_ = false;
    std::thread::id owner_;
};

}  // namespace weir::delivery
