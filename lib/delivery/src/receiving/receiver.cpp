// SPDX-License-Identifier: Apache-2.0
#include "weir/delivery/receiver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "receiving/context.hpp"
#include "receiving/receiver_thread.hpp"
#include "weir/base/assert.hpp"

namespace weir::delivery {
namespace {

using Mailboxes = std::vector<std::shared_ptr<Mailbox>>;

template <class Write>
void request_of_all(const Mailboxes& threads, const Write& write) {
    for (const auto& thread : threads) thread->request(write);
}

Result<> check(const ReceiverOptions& options, const memory::BufferPool& pool) {
    if (options.event_size_max.count() < 1 || options.event_size_max.count() > wire::payload_size_max)
        return fail(Errc::usage,
                    fmt::format("the largest event may be 1 byte to {}, not {}",
                                to_string(Bytes{wire::payload_size_max}), to_string(options.event_size_max)));
    if (options.event_size_max.count() > pool.largest())
        return fail(Errc::usage, fmt::format("an event of {} does not fit the memory for events ({}); make the memory "
                                             "larger or the largest event smaller",
                                             to_string(options.event_size_max), to_string(pool.stats().limit)));
    if (options.connections_max == 0 || options.sessions_max == 0 || options.session_intervals_max == 0)
        return fail(Errc::usage, "a receiver needs a limit of at least 1 for connections, sessions and intervals");
    if (options.threads > 256)
        return fail(Errc::usage, fmt::format("{} receiver threads are too many; 4 are "
                                             "usually enough",
                                             options.threads));
    return {};
}

}  // namespace

class Receiver::Station {
public:
    Station(const ReceiverOptions& options, memory::BufferPool& pool, EventSink& sink, Reporter report,
            const Clock& clock, transport::Listener listener, std::optional<transport::TlsContext> tls,
            Mailboxes threads)
        : context(options, pool, sink, std::move(report), std::move(tls)),
          mailboxes(std::make_shared<const Mailboxes>(std::move(threads))),
          port(listener.port()),
          clock_(clock) {
        std::optional<Entrance> entrance(Entrance{std::move(listener), *mailboxes});
        for (std::size_t i = 0; i < mailboxes->size(); ++i)
            threads_.push_back(std::make_unique<ReceiverThread>(context, (*mailboxes)[i], clock, i,
                                                                std::exchange(entrance, std::nullopt)));
        // The pool may call while this object is destroyed: it holds the mailboxes, not the object.
        context.reception.on_released([shared = mailboxes] {
            request_of_all(*shared, [](Requests& requests) { requests.reception_freed = true; });
        });
        ticket_ = pool.subscribe([shared = mailboxes] {
            request_of_all(*shared, [](Requests& requests) { requests.memory_freed = true; });
        });
    }

    ~Station() {
        stop(std::chrono::milliseconds{0});
        context.pool.unsubscribe(ticket_);
    }

    Result<> listen() {
        if (!std::exchange(listening_, true)) return threads_.front()->listen();
        return {};
    }

    void start() {
        const auto listening = listen();
        WEIR_ASSERT(listening.has_value() && !started_);
        started_ = true;
        for (auto& thread : threads_) thread->start();
    }

    bool stop(std::chrono::milliseconds deadline) {
        const std::scoped_lock lock(stop_mutex_);
        if (!std::exchange(stop_requested_, true)) {
            stopping_.store(true);  // partner: answered()
            const auto until = clock_.now() + deadline;
            request_of_all(*mailboxes, [until](Requests& requests) { requests.stop = until; });
        }
        if (!started_) {
            threads_.clear();
            started_ = true;
        }
        for (auto& thread : threads_) thread->join();
        return context.ledger.unanswered() == 0;
    }

    /// Answers were given; when it was the last one of a stop, the threads need not wait any longer.
    void answered() {
        if (stopping_.load() && context.ledger.unanswered() == 0) request_of_all(*mailboxes, [](Requests&) {});
    }

    Context context;
    const std::shared_ptr<const Mailboxes> mailboxes;  // shared with the pool's call
    const std::uint16_t port;

private:
    const Clock& clock_;
    std::size_t ticket_ = 0;
    std::atomic<bool> stopping_{false};
    std::mutex stop_mutex_;
    bool stop_requested_ = false;
    bool listening_ = false;
    bool started_ = false;
    std::vector<std::unique_ptr<ReceiverThread>> threads_;
};

Receiver::Receiver(std::unique_ptr<Station> station) : station_(std::move(station)) {}
Receiver::~Receiver() = default;

const Clock& Receiver::default_clock() {
    static const SystemClock clock;  // has no state
    return clock;
}

Result<std::unique_ptr<Receiver>> Receiver::open(const ReceiverOptions& options, memory::BufferPool& pool,
                                                 EventSink& sink, Reporter report, const Clock& clock) {
    WEIR_TRY(check(options, pool));
    std::optional<transport::TlsContext> tls;
    if (options.tls.any()) {
        tls = WEIR_TRY(transport::TlsContext::for_server(options.tls));
        if (options.tls_of_parts.any()) {
            const auto parts = WEIR_TRY(transport::TlsContext::for_server(options.tls_of_parts));
            tls->serve_parts(parts);
        }
    }
    auto listener = WEIR_TRY(transport::Listener::reserve(options.listen, options.socket));
    const auto threads =
        options.threads > 0 ? options.threads : std::clamp(std::thread::hardware_concurrency(), 1U, 4U);
    Mailboxes mailboxes;
    for (unsigned i = 0; i < threads; ++i) {
        auto loop = WEIR_TRY(transport::EventLoop::create());
        mailboxes.push_back(std::make_shared<Mailbox>(std::move(loop)));
    }
    return std::unique_ptr<Receiver>(new Receiver(std::make_unique<Station>(
        options, pool, sink, std::move(report), clock, std::move(listener), std::move(tls), std::move(mailboxes))));
}

std::uint16_t Receiver::port() const noexcept { return station_->port; }

SessionId Receiver::restore(const wire::SessionKey& session, const wire::SequenceSet& durable) {
    const auto restored = station_->context.sessions.restore(session);
    restored->restore(durable);
    return restored->id;
}

Result<> Receiver::listen() { return station_->listen(); }

void Receiver::start() { station_->start(); }

std::optional<WallTime> Receiver::certificate_ends_soon() const {
    return station_->context.tls ? std::optional(station_->context.tls->certificate_ends_soon()) : std::nullopt;
}

std::optional<WallTime> Receiver::certificate_ends() const {
    return station_->context.tls ? std::optional(station_->context.tls->certificate_ends()) : std::nullopt;
}

void Receiver::acknowledge(std::span<const Answer> events) {
    std::shared_ptr<Session> session;
    std::uint64_t count = 0;
    for (const auto& [id, sequence] : events) {
        if (!session || session->id != id) session = station_->context.sessions.find(id);
        if (session && session->acknowledge(sequence)) ++count;
    }
    if (count == 0) return;
    station_->context.ledger.update([count](ReceiverStats& stats) {
        stats.acknowledged += count;
        stats.in_hand -= count;
    });
    station_->answered();
}

void Receiver::acknowledge(Answer block, std::vector<wire::Refusal> refused) {
    const auto session = station_->context.sessions.find(block.session);
    if (!session || !session->acknowledge(block.sequence, std::move(refused))) return;
    station_->context.ledger.update([](ReceiverStats& stats) {
        ++stats.acknowledged;
        --stats.in_hand;
    });
    station_->answered();
}

void Receiver::reject(Answer event, wire::RejectReason reason, std::string text) {
    const auto session = station_->context.sessions.find(event.session);
    if (!session || !session->reject(event.sequence, reason, std::move(text))) return;
    station_->context.ledger.update([reason](ReceiverStats& stats) {
        ++stats.rejected_by_sink[wire::index(reason)];
        --stats.in_hand;
    });
    station_->answered();
}

void Receiver::answer(std::span<const Answer> not_passed_on) {
    if (not_passed_on.empty()) return;
    std::shared_ptr<Session> session;
    for (const auto& [id, sequence] : not_passed_on) {
        if (!session || session->id != id) session = station_->context.sessions.find(id);
        if (session) session->answer(sequence);
    }
    station_->context.ledger.update([&](ReceiverStats& stats) { stats.held -= not_passed_on.size(); });
    station_->answered();
}

void Receiver::send_again(std::span<const Answer> events) {
    std::map<SessionId, std::shared_ptr<Session>> sessions;  // shared with the registry
    std::uint64_t count = 0;
    for (const auto& [id, sequence] : events) {
        auto& session = sessions[id];
        if (!session) session = station_->context.sessions.find(id);
        if (session && session->return_event(sequence)) ++count;
    }
    if (count == 0) return;
    station_->context.ledger.update([count](ReceiverStats& stats) {
        stats.returned += count;
        stats.in_hand -= count;
    });
    // Only now: a connection that ended earlier could be back before all of its events are returned.
    for (const auto& [id, session] : sessions) {
        if (session)
            session->end_connection(wire::ByeReason::send_again,
                                    "a disk has failed; send again what is not acknowledged");
    }
    station_->answered();
}

void Receiver::retry() {
    request_of_all(*station_->mailboxes, [](Requests& requests) { requests.sink_has_room = true; });
}

std::optional<wire::SessionKey> Receiver::session_key(SessionId session) const {
    const auto found = station_->context.sessions.find(session);
    return found ? std::optional(found->key) : std::nullopt;
}

wire::SequenceSet Receiver::final_sequences(SessionId session) const {
    const auto found = station_->context.sessions.find(session);
    return found ? found->final_sequences() : wire::SequenceSet{};
}

void Receiver::disconnect(RunNumber run, wire::ByeReason reason, std::string text) {
    request_of_all(*station_->mailboxes, [&](Requests& requests) {
        requests.ends.push_back({.connection = {}, .run = run, .reason = reason, .text = text});
    });
}

std::size_t Receiver::close_sessions(RunNumber run) { return station_->context.sessions.close_sessions(run); }

bool Receiver::stop(std::chrono::milliseconds deadline) { return station_->stop(deadline); }

ReceiverStats Receiver::stats() const {
    auto stats = station_->context.ledger.snapshot();
    stats.sessions = station_->context.sessions.size();
    const auto queue = station_->context.reception.queue();
    stats.waiting_for_others = queue.events;
    stats.waiting_for_others_since = queue.since;
    return stats;
}

}  // namespace weir::delivery
