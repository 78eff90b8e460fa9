// SPDX-License-Identifier: Apache-2.0
// The I/O thread of a sender: connects, sends HELLO, writes what the send buffer holds as far as credit goes,
// reads answers, and begins again when the connection is lost. Everything but wake() belongs to it.
#pragma once

#include <deque>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "send_buffer.hpp"
#include "weir/transport/event_loop.hpp"
#include "weir/transport/socket.hpp"
#include "weir/wire/frame_assembler.hpp"

namespace weir::delivery {

class SenderLink {
public:
    static constexpr unsigned replaced_max = 3;
    static constexpr unsigned silent_beats_max = 3;

    SenderLink(const SenderOptions& options, transport::HostPort host, wire::SessionKey session,
               transport::EventLoop loop, std::optional<transport::TlsContext> tls, SendBuffer& send_buffer);

    /// Until stopped, or failed for good (the send buffer then has the error).
    void run(const std::stop_token& stop);
    void wake() const noexcept { loop_.wake(); }

private:
    enum class Pace { full, drained };  // of writing: the socket takes no more, or all is written
    struct Writing {
        SendBuffer::Held* event;
        std::uint64_t size;  // head and payload
    };

    [[nodiscard]] bool connect(const std::stop_token& stop);
    [[nodiscard]] bool finish_connect(const std::stop_token& stop, const transport::Address& address);
    void serve(const std::stop_token& stop);
    void send_bye(const char* text);
    [[nodiscard]] Result<> beat();
    [[nodiscard]] Result<Pace> write_some();
    [[nodiscard]] Result<> read_some();
    [[nodiscard]] std::unexpected<Error> not_understood(ConstData first) const;
    [[nodiscard]] Result<> message();
    [[nodiscard]] Result<> welcome();
    [[nodiscard]] Result<> bye();
    void gather(std::vector<iovec>& pieces) const;
    void written(std::size_t count);
    void report_settled();
    void lost(std::string problem);
    void pause(const std::stop_token& stop);

    const SenderOptions& options_;
    const transport::HostPort host_;
    wire::SessionKey session_;
    bool join_run_;  // its run is not known yet
    transport::EventLoop loop_;
    const std::optional<transport::TlsContext> tls_;  // nothing: plain TCP
    SendBuffer& send_buffer_;

    transport::Socket socket_;
    wire::FrameAssembler assembler_;
    std::vector<std::byte> staging_;
    std::vector<std::byte> control_;  // HELLO, BYE
    std::size_t control_sent_ = 0;
    bool welcomed_ = false;
    // Nothing: before WELCOME, or the recorder speaks protocol 1 and may be silent.
    std::optional<SteadyTime> beat_;  // when to check whether both sides sent something since the last
    std::chrono::milliseconds heartbeat_{0};
    bool sent_since_beat_ = false, received_since_beat_ = false;
    unsigned silent_beats_ = 0;
    std::uint64_t credit_ = 0;  // bytes that may be begun on this connection, in all
    std::uint64_t begun_ = 0;
    std::deque<Writing> writing_;  // the first may be partly written
    std::uint64_t first_written_ = 0;
    std::vector<iovec> pieces_;

    std::vector<SendBuffer::Settled> settled_;
    std::chrono::milliseconds backoff_;
    SteadyTime last_connected_;  // the end of the last connection; before the first, when this began
    unsigned replaced_ = 0;      // times without an ACK between
    bool failed_ = false;
};

}  // namespace weir::delivery
