// SPDX-License-Identifier: Apache-2.0
// The course of a sender's connection; the bytes in and out of it are in sender_link_io.cpp.
#include "sending/sender_link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace weir::delivery {
namespace {

constexpr std::size_t staging_size = 64 * 1024;
constexpr std::chrono::milliseconds leave_time{200};

}  // namespace

SenderLink::SenderLink(const SenderOptions& options, transport::HostPort host, wire::SessionKey session,
                       transport::EventLoop loop, std::optional<transport::TlsContext> tls, SendBuffer& send_buffer,
                       SteadyTime now)
    : options_(options),
      host_(std::move(host)),
      session_(std::move(session)),
      join_run_(options.join_run),
      loop_(std::move(loop)),
      tls_(std::move(tls)),
      send_buffer_(send_buffer),
      now_(now),
      until_(now),
      staging_(staging_size),
      backoff_(options.backoff_first),
      last_connected_(now) {}

void SenderLink::run(const std::stop_token& stop, const Clock& clock) {
    Ready ready;
    while (!ended()) {
        if (stop.stop_requested()) finish(clock.now());
        const auto until = step(clock.now(), ready);
        if (!ended()) ready = await(until, clock.now());
    }
}

std::optional<SteadyTime> SenderLink::step(SteadyTime now, Ready ready) {
    now_ = now;
    bool more = true;
    while (more) {
        switch (state_) {
            case State::resting:
                if (now_ >= until_) resolve();
                more = false;
                break;
            case State::resolved:
                begin_attempt();
                more = false;
                break;
            case State::connecting: more = connecting(ready); break;
            case State::serving: more = serve(ready); break;
            case State::leaving: leave(ready); [[fallthrough]];
            case State::ended: more = false; break;
        }
        ready = {};
    }
    if (state_ == State::ended) return std::nullopt;
    if (state_ == State::serving && welcomed_) return beat_;
    return until_;
}

/// A name server may take seconds. What follows counts from the next step, at once, which has the time after it.
void SenderLink::resolve() {
    if (auto addresses = transport::resolve(host_, false)) {
        addresses_ = std::move(*addresses);
        std::ranges::reverse(addresses_);
    } else {
        unresolved_ = addresses.error().message();
    }
    state_ = State::resolved;
    until_ = now_;
}

void SenderLink::begin_attempt() {
    if (!unresolved_.empty()) lost(std::exchange(unresolved_, {}));
    connect_next();
}

void SenderLink::connect_next() {
    while (!addresses_.empty() && !failed_) {
        auto socket = transport::begin_connect(addresses_.back(), options_.socket);
        addresses_.pop_back();
        if (!socket) {
            lost(socket.error().message());
            continue;
        }
        socket_ = std::move(*socket);
        watched_ = {.write = true};
        if (const auto added = loop_.add(socket_.fd(), watched_, 1); !added) {
            lost(added.error().message());
            continue;
        }
        state_ = State::connecting;
        until_ = now_ + options_.connect_timeout;
        return;
    }
    rest();
}

bool SenderLink::connecting(Ready ready) {
    if (ready.empty() && now_ < until_) return false;
    if (const auto result = connected(ready); !result) {
        lost(result.error().message());
        connect_next();
        return false;
    }
    begin_session();
    return true;
}

Result<> SenderLink::connected(Ready ready) {
    if (ready.empty())
        return fail(Errc::io, fmt::format("cannot connect to {}: no answer within {}", to_string(host_),
                                          weir::to_string(std::chrono::nanoseconds(options_.connect_timeout))));
    if (const int error = socket_.pending_error(); error != 0)
        return fail(Errc::io,
                    fmt::format("cannot connect to {}: {}", to_string(host_), std::system_category().message(error)));
    if (tls_) WEIR_TRY(tls_->connect(socket_, host_.host));
    return {};
}

void SenderLink::begin_session() {
    assembler_ = wire::FrameAssembler();
    control_.clear();
    control_sent_ = 0;
    welcomed_ = false;
    beat_.reset();
    silent_beats_ = 0;
    begun_ = 0;
    first_written_ = 0;
    heard_ = now_;
    usual_silence_ = {};
    send_buffer_.rewind();
    wire::encode(wire::Hello{.session = session_,
                             .format = options_.format,
                             .oldest_held = send_buffer_.oldest_held(),
                             .any_run = join_run_},
                 control_);
    state_ = State::serving;
    until_ = now_ + options_.connect_timeout;
}

bool SenderLink::serve(Ready ready) {
    if (const auto result = serve_once(ready); !result) {
        lost(result.error().message());
        rest();
    }
    return false;
}

Result<> SenderLink::serve_once(Ready ready) {
    for (const auto& one : ready) {
        if (!one.read && !one.gone && !socket_.secure()) continue;
        do {
            const auto read = read_some();
            report_settled();
            WEIR_TRY(read);
        } while (socket_.unread());
    }
    if (beat_ && now_ >= *beat_) WEIR_TRY(beat());
    if (!welcomed_ && now_ >= until_)
        return fail(Errc::io,
                    fmt::format("{} took the connection and did not answer; is it a recorder?", to_string(host_)));
    const auto pace = WEIR_TRY(write_some());
    const auto wanted = socket_.waits_for({.read = true, .write = pace == Pace::full});
    if (wanted != watched_) WEIR_TRY(loop_.change(socket_.fd(), wanted, 1));
    watched_ = wanted;
    return {};
}

void SenderLink::rest() {
    socket_.close();
    writing_.clear();
    send_buffer_.release_settled();
    state_ = failed_ ? State::ended : State::resting;
    until_ = now_ + backoff_;
    backoff_ = std::min(2 * backoff_, options_.backoff_last);
}

void SenderLink::end() {
    socket_.close();
    writing_.clear();
    send_buffer_.release_settled();
    state_ = State::ended;
}

/// An interval counts as silent only when we were there to read: what lay unread after we had been stopped is read
/// before the next one ends.
Result<> SenderLink::beat() {
    beat_ = now_ + heartbeat_;
    silent_beats_ = std::exchange(received_since_beat_, false) ? 0 : silent_beats_ + 1;
    if (silent_beats_ >= silent_beats_max)
        return fail(Errc::io, fmt::format("{} sent nothing for {}", to_string(host_),
                                          weir::to_string(std::chrono::nanoseconds(silent_beats_max * heartbeat_))));
    // Between messages only; a sender within one is sending, or waits for room because the recorder does not read.
    if (!std::exchange(sent_since_beat_, false) && writing_.empty() && control_sent_ == control_.size()) {
        control_.clear();
        control_sent_ = 0;
        wire::encode_alive(control_);
    }
    return {};
}

/// Best effort: a recorder that does not receive the BYE sees the end of the connection.
void SenderLink::finish(SteadyTime now) {
    if (state_ == State::leaving || state_ == State::ended) return;
    if (state_ != State::serving || control_sent_ < control_.size() || first_written_ > 0)  // within a message
        return end();
    std::vector<std::byte> bytes;
    wire::encode(wire::Bye{wire::ByeReason::finished, "the sender has finished"}, bytes);
    static_cast<void>(socket_.write(bytes));
    socket_.finish_sending();
    static_cast<void>(loop_.change(socket_.fd(), {.read = true}, 1));
    state_ = State::leaving;
    until_ = now + leave_time;
}

/// What the recorder was still sending is read, or else closing would reset the connection before it has seen our last
/// bytes.
void SenderLink::leave(Ready ready) {
    if (now_ >= until_) return end();
    if (ready.empty()) return;
    const auto read = socket_.read(staging_);
    if (!read || read->state == transport::Transfer::State::closed) end();
}

void SenderLink::lost(std::string problem) {
    if (failed_) return;
    send_buffer_.disconnected(problem);
    if (std::exchange(welcomed_, false)) last_connected_ = now_;
    const auto alone = now_ - last_connected_;
    if (options_.give_up_after.count() == 0 || alone < options_.give_up_after)
        return notify(LinkState::connecting, problem);
    fail_for_good({Errc::io, 0,
                   fmt::format("no connection for {} s; the sender has failed: {}",
                               std::chrono::duration_cast<std::chrono::seconds>(alone).count(), problem)});
}

void SenderLink::fail_for_good(Error error) {
    report_settled();  // answers that came before: who sees the failure has seen them
    failed_ = true;
    const auto why = error.message();
    send_buffer_.set_failure(std::move(error));
    notify(LinkState::failed, why);
}

void SenderLink::report_settled() {
    for (const auto& event : settled_) {
        const auto refused = refused_.extract(event.sequence);
        if (refused && !event.rejected && options_.on_refused) options_.on_refused(event.sequence, refused.mapped());
        if (options_.on_final) options_.on_final(event.sequence, event.rejected);
    }
    send_buffer_.reported(settled_.size());
    settled_.clear();
    send_buffer_.release_settled();
}

}  // namespace weir::delivery
