// SPDX-License-Identifier: Apache-2.0
// The course of a sender's connection; the bytes in and out of it are in sender_link_io.cpp.
#include "sender_link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace weir::delivery {
namespace {

constexpr std::size_t staging_size = 64 * 1024;

SteadyTime now() { return std::chrono::steady_clock::now(); }

}  // namespace

SenderLink::SenderLink(const SenderOptions& options, transport::HostPort host, wire::SessionKey session,
                       transport::EventLoop loop, std::optional<transport::TlsContext> tls, SendBuffer& send_buffer)
    : options_(options),
      host_(std::move(host)),
      session_(std::move(session)),
      join_run_(options.join_run),
      loop_(std::move(loop)),
      tls_(std::move(tls)),
      send_buffer_(send_buffer),
      staging_(staging_size),
      backoff_(options.backoff_first),
      last_connected_(now()) {}

void SenderLink::run(const std::stop_token& stop) {
    while (!stop.stop_requested() && !failed_) {
        if (connect(stop)) serve(stop);
        socket_.close();
        writing_.clear();
        send_buffer_.release_settled();
        if (!stop.stop_requested() && !failed_) pause(stop);
    }
}

bool SenderLink::connect(const std::stop_token& stop) {
    const auto addresses = transport::resolve(host_, false);
    if (!addresses) {
        lost(addresses.error().message());
        return false;
    }
    return std::ranges::any_of(
        *addresses, [&](const auto& address) { return !stop.stop_requested() && finish_connect(stop, address); });
}

bool SenderLink::finish_connect(const std::stop_token& stop, const transport::Address& address) {
    auto socket = transport::begin_connect(address, options_.socket);
    if (!socket) {
        lost(socket.error().message());
        return false;
    }
    socket_ = std::move(*socket);
    if (const auto added = loop_.add(socket_.fd(), {.write = true}, 1); !added) {
        lost(added.error().message());
        return false;
    }
    const auto deadline = now() + options_.connect_timeout;
    while (!stop.stop_requested()) {
        if (!loop_.wait(deadline, now()).empty()) break;
        if (now() < deadline) continue;
        lost(fmt::format("cannot connect to {}: no answer within {}", to_string(host_),
                         weir::to_string(std::chrono::nanoseconds(options_.connect_timeout))));
        return false;
    }
    if (const int error = socket_.pending_error(); error != 0) {
        lost(fmt::format("cannot connect to {}: {}", to_string(host_), std::system_category().message(error)));
        return false;
    }
    if (tls_) {
        if (const auto secured = tls_->connect(socket_, host_.host); !secured) {
            lost(secured.error().message());
            return false;
        }
    }
    return !stop.stop_requested();
}

void SenderLink::serve(const std::stop_token& stop) {
    assembler_ = wire::FrameAssembler();
    control_.clear();
    control_sent_ = 0;
    welcomed_ = false;
    beat_.reset();
    silent_beats_ = 0;
    begun_ = 0;
    first_written_ = 0;
    send_buffer_.rewind();
    wire::encode(wire::Hello{.session = session_,
                             .format = options_.format,
                             .oldest_held = send_buffer_.oldest_held(),
                             .any_run = join_run_},
                 control_);
    const auto welcome_deadline = now() + options_.connect_timeout;

    transport::Interest watched{.write = true};
    while (!stop.stop_requested() && !failed_) {
        const auto pace = write_some();
        if (!pace) return lost(pace.error().message());
        const auto wanted = socket_.waits_for({.read = true, .write = *pace == Pace::full});
        if (wanted != watched) {
            if (const auto changed = loop_.change(socket_.fd(), wanted, 1); !changed)
                return lost(changed.error().message());
            watched = wanted;
        }
        const auto ready = loop_.wait(welcomed_ ? beat_ : std::optional(welcome_deadline), now());
        for (const auto& one : ready) {
            if (!one.read && !one.gone && !socket_.secure()) continue;
            do {
                const auto read = read_some();
                report_settled();
                if (!read) return lost(read.error().message());
            } while (socket_.unread());
        }
        if (beat_ && now() >= *beat_) {
            if (const auto alive = beat(); !alive) return lost(alive.error().message());
        }
        if (!welcomed_ && now() >= welcome_deadline)
            return lost(fmt::format("{} took the connection and did not answer; is it a recorder?", to_string(host_)));
    }
    if (stop.stop_requested() && !failed_) send_bye("the sender has finished");
}

/// An interval counts as silent only when we were there to read: what lay unread after we had been stopped is read
/// before the next one ends.
Result<> SenderLink::beat() {
    beat_ = now() + heartbeat_;
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

/// Best effort: a recorder that does not receive it sees the end of the connection.
void SenderLink::send_bye(const char* text) {
    if (control_sent_ < control_.size() || first_written_ > 0) return;  // within a message
    std::vector<std::byte> bytes;
    wire::encode(wire::Bye{wire::ByeReason::finished, text}, bytes);
    static_cast<void>(socket_.write(bytes));
    socket_.finish_sending();
    // What the recorder was still sending is read, or else closing would reset the connection before it
    // has seen our last bytes.
    const auto deadline = now() + std::chrono::milliseconds(200);
    static_cast<void>(loop_.change(socket_.fd(), {.read = true}, 1));
    while (now() < deadline) {
        if (loop_.wait(deadline, now()).empty()) continue;
        const auto read = socket_.read(staging_);
        if (!read || read->state == transport::Transfer::State::closed) return;
    }
}

void SenderLink::lost(std::string problem) {
    if (failed_) return;
    send_buffer_.disconnected(problem);
    if (std::exchange(welcomed_, false)) last_connected_ = now();
    const auto alone = now() - last_connected_;
    if (options_.give_up_after.count() == 0 || alone < options_.give_up_after) return;
    failed_ = true;
    send_buffer_.set_failure({Errc::io, 0,
                              fmt::format("no connection for {} s; the sender has failed: {}",
                                          std::chrono::duration_cast<std::chrono::seconds>(alone).count(), problem)});
}

void SenderLink::pause(const std::stop_token& stop) {
    const auto until = now() + backoff_;
    backoff_ = std::min(2 * backoff_, options_.backoff_last);
    while (!stop.stop_requested() && now() < until) static_cast<void>(loop_.wait(until, now()));
}

void SenderLink::report_settled() {
    if (options_.on_final) {
        for (const auto& event : settled_) options_.on_final(event.sequence, event.rejected);
    }
    send_buffer_.reported(settled_.size());
    settled_.clear();
    send_buffer_.release_settled();
}

}  // namespace weir::delivery
