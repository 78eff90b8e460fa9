// SPDX-License-Identifier: Apache-2.0
// One thread of a receiver: an event loop and the connections that it owns. The first thread also has the
// listener and deals new connections out to all.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "receiving/connection.hpp"
#include "receiving/context.hpp"
#include "receiving/mailbox.hpp"
#include "weir/transport/socket.hpp"
#include "weir/transport/timer_queue.hpp"

namespace weir::delivery {

/// Where connections come from: given to one thread.
struct Entrance {
    transport::Listener listener;
    std::vector<std::shared_ptr<Mailbox>> threads;  // in turn
    std::size_t next = 0;
};

class ReceiverThread {
public:
    ReceiverThread(Context& context, std::shared_ptr<Mailbox> mailbox, const Clock& clock, std::uint64_t number,
                   std::optional<Entrance> entrance);

    /// Senders can connect; of the thread that has the entrance.
    [[nodiscard]] Result<> listen() { return entrance_->listener.listen(); }
    void start();
    /// After a request `stop`.
    void join();

    /// One round: requests, sockets that are ready, deadlines. Waits at most until `wait_until`. False
    /// when the thread has stopped and its last connection is gone.
    bool step(std::optional<SteadyTime> wait_until);

private:
    void read_requests(SteadyTime now);
    void accept(SteadyTime now);
    void make_room(SteadyTime now);
    void open(transport::Socket socket, SteadyTime now);
    void handle(const transport::EventLoop::Ready& ready, SteadyTime now);
    void read_on(SteadyTime now);
    void check_deadlines(SteadyTime now);
    void resume(std::deque<ConnectionId>& parked, Connection::Parked as, SteadyTime now);
    void settle(Connection& connection, Connection::Parked was_parked);
    void stop_receiving(SteadyTime now);
    void send_bye(SteadyTime now);
    void watch_listener(bool on);

    Context& context_;
    const std::shared_ptr<Mailbox> mailbox_;  // shared with all who write to it
    const Clock& clock_;
    ConnectionId next_id_;
    std::optional<Entrance> entrance_;
    bool listening_ = false;

    std::unordered_map<ConnectionId, std::unique_ptr<Connection>> connections_;
    std::deque<ConnectionId> for_share_;   // parked, in the order in which they asked
    std::deque<ConnectionId> for_memory_;  // the same
    std::deque<ConnectionId> for_sink_;
    std::vector<ConnectionId> unread_;  // have bytes that epoll does not know of
    bool memory_wanted_ = false;        // for_memory_ is not empty
    transport::TimerQueue timers_;
    std::vector<std::byte> staging_;
    std::optional<SteadyTime> answers_until_;  // stopping
    bool bye_sent_ = false;
    std::jthread thread_;  // the last member: it ends before what it uses is gone
};

}  // namespace weir::delivery
