// SPDX-License-Identifier: Apache-2.0
#include "weir/delivery/sender.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "sending/send_buffer.hpp"
#include "sending/sender_link.hpp"
#include "weir/base/endian.hpp"
#include "weir/base/guid.hpp"
#include "weir/base/named_thread.hpp"

namespace weir::delivery {
namespace {

Result<> check(const SenderOptions& options) {
    if (!wire::valid_sender_name(options.name))
        return fail(Errc::usage,
                    fmt::format("\"{}\" cannot be the name of a sender; use 1 to {} letters, digits and -_.:",
                                options.name.substr(0, 200), wire::sender_name_size_max));
    if (options.join_run && (options.replays || options.first_sequence > Sequence{1}))
        return fail(Errc::usage, "a sender that continues a session needs the run of that session");
    if (!wire::valid(options.first_sequence)) return fail(Errc::usage, "the first sequence of a sender is 1 or more");
    if (options.first_sequence > Sequence{1} && options.incarnation == 0)
        return fail(Errc::usage, "a sender that continues a session needs the incarnation of that session");
    if (options.replays && options.incarnation == 0)
        return fail(Errc::usage, "a sender that replays a session needs the incarnation of that session");
    if (options.window_events == 0 || options.window == Bytes{0})
        return fail(Errc::usage, "the window of a sender is at least one event and one byte");
    if (options.backoff_first.count() < 1 || options.backoff_last < options.backoff_first)
        return fail(Errc::usage,
                    "the pause between attempts to connect is 1 ms or more, and the last not below the first");
    if (options.connect_timeout.count() < 1) return fail(Errc::usage, "the time to connect is 1 ms or more");
    return {};
}

}  // namespace

class Sender::Line {  // what the calls and the I/O thread share
public:
    Line(SenderOptions sender_options, transport::HostPort host, wire::SessionKey key, transport::EventLoop loop,
         std::optional<transport::TlsContext> tls)
        : options(std::move(sender_options)),
          session(std::move(key)),
          send_buffer(options),
          link(options, std::move(host), session, std::move(loop), std::move(tls), send_buffer, clock.now()),
          thread_(named_jthread("sender", [this](const std::stop_token& stop) { link.run(stop, clock); })) {}

    ~Line() { end(); }

    void end() {
        const std::scoped_lock lock(close_mutex_);
        send_buffer.set_failure({Errc::refused, 0, "the sender is closed"});
        thread_.request_stop();
        link.wake();
        if (thread_.joinable()) thread_.join();
    }

    const SystemClock clock;
    const SenderOptions options;
    const wire::SessionKey session;
    SendBuffer send_buffer;
    SenderLink link;

private:
    std::mutex close_mutex_;
    std::jthread thread_;  // the last member: it ends before what it uses is gone
};

Result<std::unique_ptr<Sender>> Sender::open(SenderOptions options) {
    WEIR_TRY(check(options));
    auto host = WEIR_TRY(transport::parse_host_port(options.host));
    if (host.port == 0) return fail(Errc::usage, fmt::format("{} has no port to connect to", options.host));
    while (options.incarnation == 0) options.incarnation = load_little<std::uint64_t>(Guid::random().bytes);
    auto loop = WEIR_TRY(transport::EventLoop::create());
    std::optional<transport::TlsContext> tls;
    if (options.tls.any()) {
        tls = WEIR_TRY(transport::TlsContext::for_client(options.tls));
    }
    wire::SessionKey session{options.name, options.incarnation, options.connection,
                             options.join_run ? RunNumber{} : options.run};
    return std::unique_ptr<Sender>(new Sender(std::make_unique<Line>(
        std::move(options), std::move(host), std::move(session), std::move(loop), std::move(tls))));
}

Sender::Sender(std::unique_ptr<Line> line) : line_(std::move(line)) {}
Sender::~Sender() = default;

Result<Sequence> Sender::send(const EventDescription& event, std::span<const Piece> payload) {
    bool wake = false;
    const auto sequence = line_->send_buffer.add(event, payload, true, wake);
    if (wake) line_->link.wake();
    if (!sequence) return std::unexpected(sequence.error());
    return **sequence;
}

Result<std::optional<Sequence>> Sender::try_send(const EventDescription& event, std::span<const Piece> payload) {
    bool wake = false;
    auto sequence = line_->send_buffer.add(event, payload, false, wake);
    if (wake) line_->link.wake();
    return sequence;
}

Result<Sequence> Sender::send(const EventDescription& event, ConstData payload) {
    const auto copy = std::make_shared_for_overwrite<std::byte[]>(payload.size());
    std::ranges::copy(payload, copy.get());
    const Piece piece{ConstData(copy.get(), payload.size()), copy};
    return send(event, std::span(&piece, 1));
}

Result<bool> Sender::flush(std::chrono::milliseconds timeout) { return line_->send_buffer.flush(timeout); }

std::vector<ReturnedEvent> Sender::withdraw() {
    line_->end();
    return line_->send_buffer.withdraw();
}

std::vector<ReturnedEvent> Sender::withdraw_unsent() { return line_->send_buffer.withdraw_unsent(); }

void Sender::close() {
    line_->end();
    line_->send_buffer.release_all();
}

Result<std::optional<RunNumber>> Sender::run(std::chrono::milliseconds timeout) {
    return line_->send_buffer.run(timeout);
}

SenderStats Sender::stats() const { return line_->send_buffer.stats(); }

bool Sender::connected() const noexcept { return line_->send_buffer.is_connected(); }

std::optional<Error> Sender::failure() const { return line_->send_buffer.failure(); }

wire::SessionKey Sender::session() const {
    auto session = line_->session;
    session.run = line_->send_buffer.run().value_or(RunNumber{});
    return session;
}

}  // namespace weir::delivery
