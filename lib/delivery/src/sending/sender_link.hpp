// SPDX-License-Identifier: Apache-2.0
// The connection of a sender: connects, sends HELLO, writes what the send buffer holds as far as credit goes,
// reads answers, and begins again when the connection is lost. A machine that its owner moves, so that tests do it
// without real time. Everything but wake() belongs to one thread, the sender's I/O thread.
//
//     resting -> resolved -> connecting -> serving -> leaving -> ended
//        ^__________|____________|____________|
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "sending/send_buffer.hpp"
#include "weir/base/clock.hpp"
#include "weir/transport/event_loop.hpp"
#include "weir/transport/socket.hpp"
#include "weir/wire/frame_assembler.hpp"

namespace weir::delivery {

class SenderLink {
public:
    static constexpr unsigned replaced_max = 3;
    static constexpr unsigned silent_beats_max = 3;

    using Ready = std::span<const transport::EventLoop::Ready>;

    /// `now`: from when on it counts as without a connection.
    SenderLink(const SenderOptions& options, transport::HostPort host, wire::SessionKey session,
               transport::EventLoop loop, std::optional<transport::TlsContext> tls, SendBuffer& send_buffer,
               SteadyTime now);

    /// Does all that can be done at `now` without waiting (but for the resolution of the host's name). `ready`: what
    /// await() returned. The result: when to call it again at the latest; nothing: not before await() returns.
    std::optional<SteadyTime> step(SteadyTime now, Ready ready);
    /// Returns when the socket is ready, wake() was called, or it is `until`. Valid until the next call.
    [[nodiscard]] Ready await(std::optional<SteadyTime> until, SteadyTime now) { return loop_.wait(until, now); }
    /// Sends BYE where that is possible, and ends.
    void finish(SteadyTime now);
    /// Finished, or failed for good (the send buffer then has the error): step() does nothing more.
    [[nodiscard]] bool ended() const noexcept { return state_ == State::ended; }

    /// All of this until stopped or ended.
    void run(const std::stop_token& stop, const Clock& clock);
    void wake() const noexcept { loop_.wake(); }

private:
    enum class State { resting, resolved, connecting, serving, leaving, ended };
    enum class Pace { full, drained };  // of writing: the socket takes no more, or all is written
    struct Writing {
        SendBuffer::Held* event;
        std::uint64_t size;  // head and payload
    };

    // Each of these is one state's part of a step. True: the state has changed, and its successor has something to do.
    void resolve();
    void begin_attempt();
    [[nodiscard]] bool connecting(Ready ready);
    [[nodiscard]] bool serve(Ready ready);
    void leave(Ready ready);

    void connect_next();
    [[nodiscard]] Result<> connected(Ready ready);
    void begin_session();
    [[nodiscard]] Result<> serve_once(Ready ready);
    void rest();
    void end();
    [[nodiscard]] Result<> beat();
    [[nodiscard]] Result<Pace> write_some();
    [[nodiscard]] Result<> read_some();
    [[nodiscard]] std::unexpected<Error> not_understood(ConstData first) const;
    [[nodiscard]] Result<> message();
    [[nodiscard]] Result<> welcome();
    [[nodiscard]] Result<> bye();
    [[nodiscard]] bool holds_back();
    void heard();
    void gather(std::vector<iovec>& pieces) const;
    void written(std::size_t count);
    void report_settled();
    void lost(std::string problem);
    void fail_for_good(Error error);
    void notify(LinkState state, const std::string& why = {}) const {
        if (options_.on_state) options_.on_state(state, why);
    }

    const SenderOptions& options_;
    const transport::HostPort host_;
    wire::SessionKey session_;
    bool join_run_;  // its run is not known yet
    transport::EventLoop loop_;
    const std::optional<transport::TlsContext> tls_;  // nothing: plain TCP
    SendBuffer& send_buffer_;

    State state_ = State::resting;
    SteadyTime now_;    // of this step
    SteadyTime until_;  // resting: to the next attempt; connecting, before WELCOME and leaving: at the latest
    std::vector<transport::Address> addresses_;  // of the host, not tried yet in this attempt; the next one is the last
    std::string unresolved_;                     // why there are none

    transport::Socket socket_;
    transport::Interest watched_;
    wire::FrameAssembler assembler_;
    std::vector<std::byte> staging_;
    std::vector<std::byte> control_;  // HELLO, BYE
    std::size_t control_sent_ = 0;
    bool welcomed_ = false;
    // Nothing: before WELCOME, or the recorder asks for no heartbeat and may be silent.
    std::optional<SteadyTime> beat_;  // when to check whether both sides sent something since the last
    std::chrono::milliseconds heartbeat_{0};
    bool sent_since_beat_ = false, received_since_beat_ = false;
    unsigned silent_beats_ = 0;
    SteadyTime heard_;                      // when something was received, or answers became due
    SteadyTime::duration usual_silence_{};  // the longest of late while answers were due
    std::uint64_t credit_ = 0;              // bytes that may be begun on this connection, in all
    std::uint64_t begun_ = 0;
    std::deque<Writing> writing_;  // the first may be partly written
    std::uint64_t first_written_ = 0;
    std::vector<iovec> pieces_;

    std::vector<SendBuffer::Settled> settled_;
    std::map<Sequence, std::vector<wire::Refusal>> refused_;  // of blocks that are not final yet
    std::chrono::milliseconds backoff_;
    SteadyTime last_connected_;  // the end of the last connection; before the first, when this began
    unsigned replaced_ = 0;      // times without an ACK between
    bool failed_ = false;
};

}  // namespace weir::delivery
