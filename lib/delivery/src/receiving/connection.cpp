// SPDX-License-Identifier: Apache-2.0
// The course of a connection: bytes in and out, HELLO, deadlines, farewell. Events are in
// connection_events.cpp.
#include "receiving/connection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "weir/base/assert.hpp"

namespace weir::delivery {

using Step = wire::FrameAssembler::Step;

namespace {

constexpr unsigned silent_beats_max = 3;

}  // namespace

void CreditAccount::return_credit(std::uint64_t bytes) noexcept {
    returned_.fetch_add(bytes);
    if (!worth_announcing() || asked_.exchange(true)) return;
    thread_->request([this](Requests& requests) { requests.touched.push_back(connection_); });
}

Connection::Connection(Context& context, std::shared_ptr<Mailbox> thread, const bool& memory_wanted, ConnectionId id,
                       transport::Socket socket, SteadyTime now)
    : context_(context),
      thread_(std::move(thread)),
      memory_wanted_(memory_wanted),
      id_(id),
      socket_(std::move(socket)),
      peer_(transport::to_string(socket_.peer())),
      assembler_(context.options.verify_payload),
      last_event_(now),
      began_(now),
      last_byte_(now) {}

Connection::~Connection() { end(); }

std::string Connection::who() const {
    return session_ ? fmt::format("{} ({})", peer_, wire::to_string(session_->key)) : peer_;
}

transport::Interest Connection::interest() const noexcept {
    return socket_.waits_for({.read = reading_ && parked_ == Parked::no, .write = out_sent_ < out_.size()});
}

void Connection::readable(MutableData staging, SteadyTime now) {
    for (std::size_t turn = 0; turn < chunk_size;) {
        const auto count = read_once(staging, now);
        if (count == 0) return;
        turn += count;
    }
}

std::size_t Connection::read_once(MutableData staging, SteadyTime now) {
    if (!reading_ || parked_ != Parked::no || state_ == State::ended) return 0;
    const auto room = assembler_.payload_room();
    std::array<iovec, 2> targets{};
    std::size_t used = 0;
    const auto direct = room.first(std::min(room.size(), chunk_size));
    if (!direct.empty()) targets[used++] = {direct.data(), direct.size()};
    // What follows the payload comes along in the same call: the head of the next event, or many small ones.
    if (direct.size() == room.size()) targets[used++] = {staging.data(), staging.size()};

    const auto read = socket_.read(std::span(targets).first(used));
    if (!read) return broken(read.error()), 0;
    if (read->state == transport::Transfer::State::closed) return end(), 0;
    if (read->state == transport::Transfer::State::would_block) return 0;
    last_byte_ = now;
    received_since_beat_ = true;
    const auto placed = std::min(read->count, direct.size());
    if (placed > 0 && assembler_.filled(placed) == Step::payload_end) event_ends(now);
    if (read->count > placed) consume(staging.first(read->count - placed), now);
    const auto wanted = direct.size() + (direct.size() == room.size() ? staging.size() : 0);
    return read->count == wanted ? read->count : 0;
}

void Connection::consume(ConstData input, SteadyTime now) {
    while (state_ == State::greeting || state_ == State::running) {
        if (!reading_) return;
        if (parked_ != Parked::no) {
            rest_.assign(input.begin(), input.end());
            return;
        }
        const bool was_inside = assembler_.inside_message();
        switch (assembler_.feed(input)) {
            case Step::more:
                if (!was_inside && assembler_.inside_message()) began_ = now;
                return;
            case Step::message: message(now); break;
            case Step::payload: event_begins(now); break;
            case Step::payload_end: event_ends(now); break;
            case Step::broken: {
                const auto& error = assembler_.error();
                return malformed(error.message(), now,
                                 error.code == Errc::unsupported ? wire::ByeReason::unsupported_version
                                                                 : wire::ByeReason::malformed);
            }
        }
    }
    // Closing: whatever else comes is not looked at.
}

void Connection::message(SteadyTime now) {
    const auto& header = assembler_.header();
    if (header.is(wire::MessageType::hello)) return hello(now);
    if (header.is(wire::MessageType::bye) && state_ == State::running) {
        state_ = State::closing;
        discard_unfinished();
        return end();
    }
    if (header.is(wire::MessageType::event)) return malformed("an EVENT has no payload", now);
    if (!header.needed() && (header.flags & wire::flag_optional) != 0) return;  // ALIVE, or a later one
    malformed(fmt::format("a message of type {} may not come here", header.type), now);
}

void Connection::hello(SteadyTime now) {
    if (state_ != State::greeting) return malformed("HELLO came twice", now);
    auto hello = wire::decode_hello(assembler_.meta());
    if (!hello) {
        return malformed(
            hello.error().message(), now,
            hello.error().code == Errc::unsupported ? wire::ByeReason::format_mismatch : wire::ByeReason::malformed);
    }
    const auto refuse = [&](wire::ByeReason reason, std::string text) {
        context_.report.warning(fmt::format("{} ({}) was refused: {}", peer_, wire::to_string(hello->session), text));
        close(reason, std::move(text), now);
    };
    if (hello->protocol < wire::protocol_version_min)
        return refuse(wire::ByeReason::unsupported_version,
                      fmt::format("it speaks version {} of the protocol, and {} is the lowest that is understood here",
                                  hello->protocol, wire::protocol_version_min));
    if (!allowed(hello->session.sender))
        return refuse(
            wire::ByeReason::not_allowed,
            fmt::format("its certificate is made out to {}; a sender's name is that, or begins with it and one of -._:",
                        fmt::join(socket_.peer_names(), ", ")));
    if (hello->any_run) {
        const auto run = context_.sink.joined_run();
        if (!run) {
            auto refusal = context_.sink.no_run_to_join();
            return refuse(refusal.reason, std::move(refusal.text));
        }
        hello->session.run = *run;
    }
    auto session = context_.sessions.enter(hello->session);
    if (!session)
        return refuse(wire::ByeReason::limit,
                      fmt::format("the limit of {} sessions is reached", context_.options.sessions_max));
    if (auto refusal = context_.sink.hello(session->id, *hello)) {
        unpin(*session);
        return refuse(refusal->reason, std::move(refusal->text));
    }
    auto takeover = session->take_over({thread_, id_}, *hello);
    if (takeover.format_differs) {
        unpin(*session);
        return refuse(wire::ByeReason::format_mismatch, "this session came with another event format before");
    }
    if (takeover.too_old) {
        unpin(*session);
        return refuse(wire::ByeReason::limit,
                      fmt::format("which sequences from {} on of this session are here is not known any more; "
                                  "choose a new incarnation",
                                  number(hello->oldest_held)));
    }
    if (takeover.never_came > 0)
        context_.report.alarm(
            "sequence gap",
            fmt::format("{} ({}): {} sequences below {} never came, and the sender does not hold them any more", peer_,
                        wire::to_string(hello->session), takeover.never_came, number(hello->oldest_held)));
    if (takeover.reopened > 0)
        context_.report.warning(
            fmt::format("{} ({}) still holds sequences from {} on, which its session had counted as abandoned; they "
                        "are taken. Is it one "
                        "sender?",
                        peer_, wire::to_string(hello->session), number(hello->oldest_held)));
    if (takeover.former) {
        context_.report.warning(
            fmt::format("{} ({}) replaces an older connection of its session", peer_, wire::to_string(hello->session)));
        takeover.former->thread->request([&](Requests& requests) {
            requests.ends.push_back({.connection = takeover.former->connection,
                                     .reason = wire::ByeReason::replaced,
                                     .text = "a newer connection of the same session has come from " + peer_});
        });
    }
    session_ = std::move(session);
    format_ = hello->format;
    previous_ = Sequence{number(hello->oldest_held) - 1};
    oldest_held_ = hello->oldest_held;
    last_event_ = now;

    const auto connections = std::max<std::uint64_t>(context_.ledger.snapshot().connections, 1);
    const auto largest_message =
        wire::frame_header_size + wire::meta_size_max + context_.options.event_size_max.count();
    const auto share = context_.pool.stats().limit.count() / connections;
    // Two of the largest: so that what is not yet announced (a quarter) never keeps one from being sent.
    const auto window = std::max(std::min(share, context_.options.credit_max.count()), 2 * largest_message);
    account_ = std::make_shared<CreditAccount>(thread_, id_, window);
    account_->announce(window);
    state_ = State::running;
    const auto heartbeat = context_.options.heartbeat;
    if (heartbeat.count() > 0) beat_ = now + heartbeat;
    wire::encode(wire::Welcome{.protocol = std::min(hello->protocol, wire::protocol_version),
                               .credit = window,
                               .event_size_max = context_.options.event_size_max.count(),
                               .durable = std::move(takeover.durable),
                               .run = session_->key.run,
                               .heartbeat_ms = static_cast<std::uint32_t>(heartbeat.count()),
                               .instance = context_.instance,
                               .recorder = context_.options.name},
                 out_);
    send_answers(now);
}

void Connection::send_answers(SteadyTime now) {
    if (state_ == State::ended) return;
    flush(now);
    // Answers are gathered in the session while the peer does not read, so `out_` stays small.
    for (bool more = true; more && out_.empty() && state_ == State::running;) {
        const auto credit = account_->credit();
        more = session_->take_answers(id_, credit, account_->worth_announcing(), out_);
        if (out_.empty()) return;
        account_->announce(credit);
        flush(now);
        more = more || account_->worth_announcing();
    }
}

void Connection::flush(SteadyTime now) {
    while (out_sent_ < out_.size()) {
        const auto written = socket_.write(ConstData(out_).subspan(out_sent_));
        if (!written) return broken(written.error());
        if (written->state == transport::Transfer::State::closed) return end();
        if (written->state == transport::Transfer::State::would_block) return;
        out_sent_ += written->count;
        sent_since_beat_ = true;
    }
    out_.clear();
    if (out_.capacity() > staging_size) out_ = {};
    out_sent_ = 0;
    if (state_ == State::closing && !std::exchange(sending_done_, true)) {
        socket_.finish_sending();
        began_ = now;
    }
}

void Connection::writable(SteadyTime now) {
    if (state_ == State::ended) return;
    flush(now);
    if (state_ == State::running && out_.empty()) send_answers(now);
}

void Connection::gone(SteadyTime) {
    // While parked nothing is read, so the end of the peer is only seen here.
    if (state_ != State::ended) end();
}

/// Neither side can send any more. A fault that TLS found is reported; a broken connection is not.
void Connection::broken(const Error& error) {
    if (socket_.secure()) {
        context_.ledger.update([](ReceiverStats& stats) { ++stats.insecure; });
        context_.report.warning(fmt::format("{} was disconnected: {}", who(), error.message()));
    }
    end();
}

void Connection::malformed(std::string text, SteadyTime now, wire::ByeReason reason) {
    context_.report.warning(fmt::format("{} was disconnected: {}", who(), text));
    close(reason, std::move(text), now);
}

void Connection::close(wire::ByeReason reason, std::string text, SteadyTime now) {
    if (state_ == State::closing || state_ == State::ended) return;
    context_.ledger.update([&](ReceiverStats& stats) { ++stats.closed[wire::index(reason)]; });
    if (state_ == State::running) send_answers(now);  // what is final already goes out before
    if (state_ == State::ended) return;
    discard_unfinished();
    if (session_) session_->disconnected(id_);
    state_ = State::closing;
    reading_ = true;
    began_ = now;
    wire::encode(wire::Bye{reason, std::move(text)}, out_);
    flush(now);
}

void Connection::stop_reading() {
    discard_unfinished();
    reading_ = false;
}

void Connection::discard_unfinished() {
    const bool partial = assembler_.inside_message() && parked_ != Parked::for_sink &&
                         assembler_.header().is(wire::MessageType::event) && assembler_.payload_missing() > 0;
    const bool discarded = parked_ == Parked::for_sink;
    parked_ = Parked::no;
    rest_ = {};
    if (discarded) session_->undo_begin(id_, waiting_.meta.sequence);
    if (partial || discarded) {
        context_.ledger.update([&](ReceiverStats& stats) {
            stats.partial += partial ? 1U : 0U;
            stats.waiting -= discarded ? 1U : 0U;
            stats.discarded += discarded ? 1U : 0U;
        });
    }
    assembler_ = wire::FrameAssembler();
    incoming_ = {};
    waiting_ = {};
}

void Connection::end() {
    if (state_ == State::ended) return;
    discard_unfinished();
    state_ = State::ended;
    socket_.close();
    if (session_) {
        session_->disconnected(id_);
        unpin(*std::exchange(session_, nullptr));
    }
}

/// This connection uses it no more.
void Connection::unpin(const Session& session) {
    if (context_.sessions.unpin(session)) context_.sink.session_closed(session.id);
}

std::optional<SteadyTime> Connection::idle_since() const {
    if (state_ != State::running || assembler_.inside_message() || parked_ != Parked::no ||
        session_->anything_in_hand())
        return std::nullopt;
    return last_event_;
}

/// With TLS, a sender's name is one of its certificate's, unless it is a part of our own system.
bool Connection::allowed(std::string_view sender) const {
    if (!socket_.secure() || context_.options.tls_any_name || socket_.with_part()) return true;
    return std::ranges::any_of(socket_.peer_names(), [&](const std::string& name) {
        return !name.empty() && sender.starts_with(name) &&
               (sender.size() == name.size() || std::string_view("-._:").contains(sender[name.size()]));
    });
}

/// An interval counts as silent only when we were there to read: what lay unread after we had been stopped is read
/// before the next one ends.
void Connection::beat(SteadyTime now) {
    const auto& heartbeat = context_.options.heartbeat;
    beat_ = now + heartbeat;
    const bool waits_for_us = parked_ != Parked::no || !reading_;
    silent_beats_ = std::exchange(received_since_beat_, false) || waits_for_us ? 0 : silent_beats_ + 1;
    if (silent_beats_ >= silent_beats_max) {
        const auto text =
            fmt::format("it sent nothing for {}", to_string(std::chrono::nanoseconds(silent_beats_max * heartbeat)));
        context_.report.warning(fmt::format("{} was disconnected: {}", who(), text));
        return close(wire::ByeReason::too_slow, text, now);
    }
    if (!std::exchange(sent_since_beat_, false) && out_.empty()) {
        wire::encode_alive(out_);
        flush(now);
    }
}

std::optional<SteadyTime> Connection::deadline() const {
    const auto message = message_deadline();
    if (state_ != State::running || !beat_) return message;
    return message ? std::min(*message, *beat_) : *beat_;
}

std::optional<SteadyTime> Connection::message_deadline() const {
    const auto& options = context_.options;
    switch (state_) {
        case State::ended: return std::nullopt;
        case State::greeting: return began_ + options.header_deadline;
        case State::closing: return began_ + options.farewell;
        case State::running: break;
    }
    if (parked_ != Parked::no || !reading_) return std::nullopt;  // it waits for us, not we for it
    if (assembler_.inside_payload()) {
        auto when = last_byte_ + options.payload_idle_max;
        if (const auto rate = options.payload_rate_min.count() * context_.reception.pace_factor(); rate > 0) {
            // The time at which the bytes so far would be fewer than the rate asks for.
            const auto came = assembler_.header().payload_size - assembler_.payload_missing();
            const auto earned = std::chrono::milliseconds(came * 1000 / rate);
            when = std::min(when, began_ + options.payload_idle_max + earned);
        }
        return when;
    }
    if (assembler_.inside_message()) return began_ + options.header_deadline;
    return std::nullopt;
}

void Connection::deadline_passed(SteadyTime now) {
    if (state_ == State::closing) return end();
    if (const auto message = message_deadline(); !message || *message > now) {
        // Neither may be due: the pace that is asked of a payload changes with what others hold.
        if (beat_ && *beat_ <= now) beat(now);
        return;
    }
    const char* text = assembler_.inside_payload() ? "a payload did not come at the pace that is asked for"
                       : state_ == State::greeting ? "no HELLO came in time"
                                                   : "a message was begun and not finished in time";
    context_.report.warning(fmt::format("{} was disconnected: {}", who(), text));
    close(wire::ByeReason::too_slow, text, now);
}

}  // namespace weir::delivery
