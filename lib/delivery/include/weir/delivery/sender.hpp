// SPDX-License-Identifier: Apache-2.0
// The sending end of the delivery protocol. A sender keeps every event until the recorder answers that it
// is on stable storage (acknowledged) or will never be (rejected), and sends it again after a reconnect.
// So an event that send() accepted is recorded exactly once, as long as the sender's process lives; and beyond
// that when the next process can send the same events again (SenderOptions::replays).
//
//     auto sender = Sender::open({.host = "recorder:9000", .name = "filter-3", .run = RunNumber{358395}});
//     (*sender)->send({.global_id = GlobalEventId{1}, .tags = {main_stream}}, bytes);
//     (*sender)->flush(10s);
//
// One sender is one session with one I/O thread; its calls may be made from any thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/data.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/base/stream_tag.hpp"
#include "weir/transport/socket.hpp"
#include "weir/transport/tls.hpp"
#include "weir/wire/message.hpp"

namespace weir::delivery {

/// How an event ended: nothing = acknowledged, otherwise rejected for this reason. Called once for each event that
/// send() accepted, unless it was withdrawn or released by close(); all calls for what was accepted before flush() are
/// done when flush() returns true. Called from the I/O thread, which it must not hold up, and in which it must not call
/// the sender.
using OnFinal = std::function<void(Sequence, std::optional<wire::RejectReason>)>;

/// Of a block, which records were refused though the block is acknowledged. Called before OnFinal of the same sequence,
/// under the same rules.
using OnRefused = std::function<void(Sequence, std::span<const wire::Refusal>)>;

enum class LinkState : std::uint8_t {
    connecting,  // again and again, with pauses
    connected,
    failed,  // for good
};
/// The state has changed, or another attempt to connect has failed; `why` names the last problem, and is empty when
/// connected. Called from the I/O thread, under the rules of OnFinal.
using OnState = std::function<void(LinkState, const std::string& why)>;

struct SenderOptions {
    std::string host = "localhost:9000";  // "host:port" of the recorder
    std::string name = "sender";          // wire::valid_sender_name
    RunNumber run{};
    bool join_run = false;  // instead of `run`: the one that is being recorded, see Sender::run()
    wire::EventFormat format = wire::EventFormat::opaque;
    std::uint64_t incarnation = 0;  // 0: a random one; give one only to continue an earlier session
    std::uint32_t connection = 0;   // to have several sessions in one process
    Sequence first_sequence{1};     // more than 1 only to continue an earlier session
    bool replays = false;  // an earlier process of this session ended without receiving every answer: from the first
                           // sequence on, the same events come again in the same order, and are recorded once
    Bytes window{256ULL << 20};  // payload bytes kept at most; send() waits beyond it
    std::uint32_t window_events = 16'384;
    std::chrono::milliseconds backoff_first{50};  // between attempts to connect; doubles up to
    std::chrono::milliseconds backoff_last{5'000};
    std::chrono::milliseconds connect_timeout{5'000};
    std::chrono::milliseconds give_up_after{0};  // without a connection; 0: never
    // While answers are due and nothing was received for so long, and four times as long as the longest silence of
    // late, no further event is begun: what was not begun can still go elsewhere (withdraw_unsent()). 0: never.
    std::chrono::milliseconds hold_back_after{0};
    transport::SocketOptions socket{};
    transport::TlsFiles tls{};  // when named: TLS, to a recorder whose certificate is of that authority and for `host`;
                                // with `unit`, to one that is a part of our own system, wherever it is
    OnFinal on_final{};
    OnRefused on_refused{};
    OnState on_state{};
};

struct EventDescription {
    GlobalEventId global_id{};
    Level1Id level1_id{};
    LumiBlock lumi_block{};
    std::vector<StreamTag> tags{};
    bool sent_elsewhere = false;  // it was sent before by another way: a recorder may hold it already
};

/// A part of a payload; not copied. `owner` keeps the bytes alive and unchanged until the event is final.
struct Piece {
    ConstData data{};
    std::shared_ptr<const void> owner{};
};

/// An event that is not final, withdrawn from its sender.
struct ReturnedEvent {
    EventDescription description;
    std::vector<Piece> payload;
};

struct SenderStats {
    // accepted = acknowledged + sum(rejected) + held + withdrawn + released
    std::uint64_t accepted = 0;  // by send()
    std::uint64_t acknowledged = 0;
    std::array<std::uint64_t, wire::reject_reason_count> rejected{};  // by wire::index(reason)
    std::uint64_t held = 0;
    std::uint64_t withdrawn = 0;
    std::uint64_t released = 0;  // by close(): their owners have them again, and whether they are recorded is not known
    std::uint64_t bytes_held = 0;
    std::uint64_t bytes_accepted = 0;  // payload
    std::uint64_t sent = 0;            // EVENT messages that went to the socket, repeated ones included
    std::uint64_t resent = 0;
    std::uint64_t reconnects = 0;  // connections after the first
    bool connected = false;
    std::string last_problem;  // of the connection; empty when there was none
};

class Sender {
public:
    /// Checks the options and begins to connect; does not wait for the connection. Error: Errc::usage.
    [[nodiscard]] static Result<std::unique_ptr<Sender>> open(SenderOptions options);
    ~Sender();  // as close()

    /// Keeps the event and sends it; waits while the window is full. Error: the event cannot be sent
    /// (usage, limit), or the sender has failed for good: refused by the recorder, too long without a connection,
    /// closed.
    [[nodiscard]] Result<Sequence> send(const EventDescription& event, std::span<const Piece> payload);
    /// The same, with nothing instead of waiting.
    [[nodiscard]] Result<std::optional<Sequence>> try_send(const EventDescription& event,
                                                           std::span<const Piece> payload);
    /// Copies the payload.
    [[nodiscard]] Result<Sequence> send(const EventDescription& event, ConstData payload);

    /// Waits until every accepted event is final and on_final was called for each: true. False: the time is over.
    /// Error: the sender failed, or is closed with events that were not final.
    [[nodiscard]] Result<bool> flush(std::chrono::milliseconds timeout);

    /// Events in the order sent that are not final, after which the sender has none; for sending them to
    /// another recorder with `sent_elsewhere`. Closes the sender.
    [[nodiscard]] std::vector<ReturnedEvent> withdraw();
    /// Of a sender that is not connected, the last events as far as none of their bytes were sent and none of them was
    /// sent by another way; in their order. Later events get their sequences: no call of send() may be going on. The
    /// sender goes on with the others.
    [[nodiscard]] std::vector<ReturnedEvent> withdraw_unsent();

    /// Sends BYE and ends the I/O thread; does not wait for answers: call flush() before. Every waiting
    /// send() ends. Events that are not final are released before it returns; to have them, call withdraw() instead.
    void close();

    /// The run that is sent to; with `join_run` it waits until a recorder names it. Nothing: the time is over. Error:
    /// the sender failed.
    [[nodiscard]] Result<std::optional<RunNumber>> run(std::chrono::milliseconds timeout);

    [[nodiscard]] SenderStats stats() const;
    [[nodiscard]] bool connected() const noexcept;
    /// Why it failed for good; nothing: it has not. A sender that is closed has.
    [[nodiscard]] std::optional<Error> failure() const;
    /// Its run is 0 as long as it is to be joined and not known yet.
    [[nodiscard]] wire::SessionKey session() const;

private:
    class Line;
    explicit Sender(std::unique_ptr<Line> line);
    std::unique_ptr<Line> line_;
};

}  // namespace weir::delivery
