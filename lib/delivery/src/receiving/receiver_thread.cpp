// SPDX-License-Identifier: Apache-2.0
#include "receiving/receiver_thread.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "weir/base/assert.hpp"
#include "weir/base/named_thread.hpp"

namespace weir::delivery {
namespace {

constexpr std::uint64_t listener_token = 0;  // and the timer that opens it again
constexpr std::chrono::milliseconds accept_pause{100};
constexpr int accepts_per_turn = 64;
constexpr std::size_t idle_ended_at_once = 16;      // for each that comes when there is no room
constexpr std::uint64_t refusals_at_once_max = 64;  // connections over the limit that are sent a BYE

}  // namespace

ReceiverThread::ReceiverThread(Context& context, std::shared_ptr<Mailbox> mailbox, const Clock& clock,
                               std::uint64_t number, std::optional<Entrance> entrance)
    : context_(context),
      mailbox_(std::move(mailbox)),
      clock_(clock),
      next_id_((number << 48) + 1),  // ids are unique over all threads: sessions compare them
      entrance_(std::move(entrance)),
      staging_(Connection::staging_size) {
    watch_listener(true);
}

void ReceiverThread::start() {
    thread_ = named_jthread("receiver", [this] {
        mailbox_->own();
        while (step(std::nullopt)) {
        }
    });
}

void ReceiverThread::join() {
    if (thread_.joinable()) thread_.join();
}

bool ReceiverThread::step(std::optional<SteadyTime> wait_until) {
    auto now = clock_.now();
    read_requests(now);
    if (answers_until_ && !bye_sent_ && (now >= *answers_until_ || context_.ledger.unanswered() == 0)) send_bye(now);
    if (bye_sent_ && connections_.empty()) return false;

    auto deadline = timers_.next();
    for (const auto& other : {wait_until, bye_sent_ ? std::nullopt : answers_until_}) {
        if (other && (!deadline || *other < *deadline)) deadline = other;
    }
    if (mailbox_->waiting() || !unread_.empty()) deadline = now;  // our own requests, which did not wake the loop
    const auto ready = mailbox_->loop.wait(deadline, now);
    now = clock_.now();
    read_on(now);
    for (const auto& one : ready) handle(one, now);
    check_deadlines(now);  // after reading: a sender is not late with bytes that were not read yet
    return true;
}

void ReceiverThread::handle(const transport::EventLoop::Ready& ready, SteadyTime now) {
    if (ready.token == listener_token) return accept(now);
    const auto at = connections_.find(ready.token);
    if (at == connections_.end()) return;  // ended earlier in this round
    auto& connection = *at->second;
    const auto was_parked = connection.parked();
    if (ready.write) connection.writable(now);
    if (ready.read || (ready.write && connection.reads_when_writable())) connection.readable(staging_, now);
    // Bytes that came before the end are read first; without them there is nothing to wait for.
    if (ready.gone && !ready.read) connection.gone(now);
    settle(connection, was_parked);
}

/// The connections with unread bytes after their last read; each gets one turn, as all do.
void ReceiverThread::read_on(SteadyTime now) {
    for (const auto id : std::exchange(unread_, {})) {
        const auto at = connections_.find(id);
        if (at == connections_.end()) continue;
        auto& connection = *at->second;
        connection.listed_unread = false;
        const auto was_parked = connection.parked();
        connection.readable(staging_, now);
        settle(connection, was_parked);
    }
}

void ReceiverThread::settle(Connection& connection, Connection::Parked was_parked) {
    if (connection.state() == Connection::State::ended) {
        context_.ledger.update([](ReceiverStats& stats) { --stats.connections; });
        connections_.erase(connection.id());
        return;
    }
    if (connection.parked() != was_parked) {
        if (connection.parked() == Connection::Parked::for_memory) {
            for_memory_.push_back(connection.id());
            memory_wanted_ = true;
        }
        if (connection.parked() == Connection::Parked::for_share) for_share_.push_back(connection.id());
        if (connection.parked() == Connection::Parked::for_sink) for_sink_.push_back(connection.id());
    }
    if (const auto interest = connection.interest(); interest != connection.watched) {
        connection.watched = interest;
        // It can only fail for a socket that is not watched; ours are until they are closed.
        WEIR_ASSERT(mailbox_->loop.change(connection.fd(), interest, connection.id()).has_value());
    }
    if (connection.unread() && !std::exchange(connection.listed_unread, true)) unread_.push_back(connection.id());
    if (const auto deadline = connection.deadline(); deadline && (!connection.timer || *deadline < *connection.timer)) {
        connection.timer = deadline;
        timers_.set(*deadline, connection.id());
    }
}

void ReceiverThread::check_deadlines(SteadyTime now) {
    while (const auto token = timers_.take_due(now)) {
        if (*token == listener_token) {
            watch_listener(true);
            continue;
        }
        const auto at = connections_.find(*token);
        if (at == connections_.end()) continue;
        auto& connection = *at->second;
        const auto was_parked = connection.parked();
        if (connection.timer && *connection.timer <= now) connection.timer.reset();
        if (const auto deadline = connection.deadline(); deadline && *deadline <= now) connection.deadline_passed(now);
        settle(connection, was_parked);
    }
}

void ReceiverThread::read_requests(SteadyTime now) {
    auto requests = mailbox_->take();
    if (requests.stop) {
        answers_until_ = requests.stop;
        stop_receiving(now);
    }
    for (auto& socket : requests.arrivals) {
        if (!answers_until_) open(std::move(socket), now);
        else context_.ledger.update([](ReceiverStats& stats) { --stats.connections; });
    }
    const auto visit = [this](ConnectionId id, auto&& act) {
        const auto at = connections_.find(id);
        if (at == connections_.end()) return;
        auto& connection = *at->second;
        const auto was_parked = connection.parked();
        act(connection);
        settle(connection, was_parked);
    };
    // Before connections end: what a sink takes at the end of its run is answered.
    if (requests.sink_has_room) resume(for_sink_, Connection::Parked::for_sink, now);
    for (const auto id : requests.touched) visit(id, [now](Connection& connection) { connection.send_answers(now); });
    for (const auto& end : requests.ends) {
        const auto close = [&](Connection& connection) { connection.close(end.reason, end.text, now); };
        if (end.connection) {
            visit(*end.connection, close);
            continue;
        }
        std::vector<ConnectionId> of_run;
        for (const auto& [id, connection] : connections_) {
            if (connection->run() == end.run) of_run.push_back(id);
        }
        for (const auto id : of_run) visit(id, close);
    }
    if (requests.make_room) make_room(now);
    if (requests.memory_freed) resume(for_memory_, Connection::Parked::for_memory, now);
    if (requests.reception_freed) resume(for_share_, Connection::Parked::for_share, now);
}

void ReceiverThread::resume(std::deque<ConnectionId>& parked, Connection::Parked as, SteadyTime now) {
    // The longest waiting first. Memory ends with the first who gets none; a full sink may still take
    // the events of others (another stream, say), and a share may do for a smaller event, so there each has one try.
    auto round = std::exchange(parked, {});
    std::deque<ConnectionId> still;
    memory_wanted_ = !for_memory_.empty();  // in the rounds of others: these come first
    for (bool room = true; !round.empty(); round.pop_front()) {
        const auto id = round.front();
        const auto at = connections_.find(id);
        if (at == connections_.end() || at->second->parked() != as) continue;
        auto& connection = *at->second;
        const auto stalls_before = connection.stalls();
        if (room) connection.resume(now);
        if (connection.parked() == as && connection.stalls() == stalls_before) {
            still.push_back(id);
            settle(connection, as);
            if (as == Connection::Parked::for_memory) room = false;
        } else {
            settle(connection, Connection::Parked::no);
        }
    }
    parked.insert(parked.begin(), still.begin(), still.end());
    memory_wanted_ = !for_memory_.empty();
}

void ReceiverThread::watch_listener(bool on) {
    if (!entrance_ || listening_ == on) return;
    listening_ = on;
    if (on) {
        const auto added = mailbox_->loop.add(entrance_->listener.fd(), {.read = true}, listener_token);
        WEIR_ASSERT(added.has_value());
    } else {
        mailbox_->loop.remove(entrance_->listener.fd());
    }
}

void ReceiverThread::accept(SteadyTime now) {
    for (int n = 0; n < accepts_per_turn && entrance_; ++n) {
        auto socket = entrance_->listener.accept();
        if (!socket) {
            context_.report.warning(socket.error().message());
            watch_listener(false);
            timers_.set(now + accept_pause, listener_token);
            return;
        }
        if (!*socket) return;
        std::uint64_t open_now = 0;
        context_.ledger.update([&](ReceiverStats& stats) {
            ++stats.connections_accepted;
            open_now = ++stats.connections;
        });
        if (open_now > context_.options.connections_max) {
            for (const auto& thread : entrance_->threads)
                thread->request([](Requests& requests) { requests.make_room = true; });
            context_.report.warning(fmt::format("{} was refused: the limit of {} connections is reached",
                                                transport::to_string((*socket)->peer()),
                                                context_.options.connections_max));
            if (open_now > context_.options.connections_max + refusals_at_once_max) {
                context_.ledger.update([](ReceiverStats& stats) {
                    --stats.connections;
                    ++stats.closed[wire::index(wire::ByeReason::too_many_connections)];
                });
                continue;  // closed without a word
            }
            open(std::move(**socket), now);
            const auto at = connections_.find(next_id_ - 1);
            if (at == connections_.end()) continue;
            at->second->close(wire::ByeReason::too_many_connections, "the limit of connections is reached", now);
            settle(*at->second, Connection::Parked::no);
            continue;
        }
        auto& target = entrance_->threads[entrance_->next++ % entrance_->threads.size()];
        target->request([&](Requests& requests) { requests.arrivals.push_back(std::move(**socket)); });
    }
}

/// Connections that sent nothing for long are closed for those that come; a good sender among them connects again.
void ReceiverThread::make_room(SteadyTime now) {
    std::vector<std::pair<SteadyTime, ConnectionId>> idle;
    for (const auto& [id, connection] : connections_) {
        if (const auto since = connection->idle_since(); since && now - *since >= context_.options.idle_when_full)
            idle.emplace_back(*since, id);
    }
    std::ranges::sort(idle);
    for (std::size_t i = 0; i < std::min(idle.size(), idle_ended_at_once); ++i) {
        auto& connection = *connections_.at(idle[i].second);
        connection.close(wire::ByeReason::too_many_connections, "all connections are taken, and this one is idle", now);
        settle(connection, Connection::Parked::no);
    }
}

void ReceiverThread::open(transport::Socket socket, SteadyTime now) {
    if (context_.tls && !context_.tls->accept(socket)) {  // out of memory for it
        context_.report.warning("there is no memory for one more TLS connection");
        context_.ledger.update([](ReceiverStats& stats) { --stats.connections; });
        return;
    }
    const auto id = next_id_++;
    auto connection = std::make_unique<Connection>(context_, mailbox_, memory_wanted_, id, std::move(socket), now);
    if (!mailbox_->loop.add(connection->fd(), connection->watched, id)) {  // out of memory for it
        context_.report.warning("the system cannot watch one more connection");
        context_.ledger.update([](ReceiverStats& stats) { --stats.connections; });
        return;
    }
    auto& there = *connections_.emplace(id, std::move(connection)).first->second;
    settle(there, Connection::Parked::no);
}

void ReceiverThread::stop_receiving(SteadyTime now) {
    if (entrance_) {
        watch_listener(false);
        entrance_.reset();  // closes the port: new senders are refused by the system
    }
    for_share_.clear();
    for_memory_.clear();
    for_sink_.clear();
    memory_wanted_ = false;
    std::vector<ConnectionId> all;
    for (const auto& [id, connection] : connections_) all.push_back(id);
    for (const auto id : all) {
        auto& connection = *connections_.at(id);
        if (connection.state() == Connection::State::running) connection.stop_reading();
        else if (connection.state() == Connection::State::greeting)
            connection.close(wire::ByeReason::stopping, "the recorder stops", now);
        settle(connection, Connection::Parked::no);
    }
}

void ReceiverThread::send_bye(SteadyTime now) {
    bye_sent_ = true;
    std::vector<ConnectionId> all;
    for (const auto& [id, connection] : connections_) all.push_back(id);
    for (const auto id : all) {
        auto& connection = *connections_.at(id);
        connection.close(wire::ByeReason::stopping, "the recorder stops", now);
        settle(connection, Connection::Parked::no);
    }
}

}  // namespace weir::delivery
