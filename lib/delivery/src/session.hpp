// SPDX-License-Identifier: Apache-2.0
// What a receiver knows of one session: which sequences are final, which are in hand, and what its sender
// has not been told yet. Sessions outlive connections; a connection takes its session over and is then the only one
// that may begin events of it. All calls from any thread.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "mailbox.hpp"
#include "weir/delivery/event_sink.hpp"
#include "weir/wire/message.hpp"

namespace weir::delivery {

class Session {
public:
    struct Owner {
        std::shared_ptr<Mailbox> thread;
        ConnectionId connection = 0;
    };
    struct Takeover {
        bool format_differs = false;  // then nothing was changed
        bool forgotten = false;       // it may still hold what is not known here any more; then nothing was changed
        std::uint64_t reopened = 0;   // sequences that this session had given up, and that its sender still holds
        std::uint64_t given_up = 0;   // sequences that never came, and that its sender does not hold any more
        std::optional<Owner> former;  // whose connection is to be ended
        wire::SequenceSet durable;    // for WELCOME
    };
    enum class Standing { fresh, in_hand, final, scattered, not_owner };
    enum class Begun { yes, duplicate, not_owner };

    Session(SessionId session_id, wire::SessionKey session_key, std::size_t intervals_max)
        : id(session_id), key(std::move(session_key)), intervals_max_(intervals_max) {}

    const SessionId id;
    const wire::SessionKey key;

    void restore(const wire::SequenceSet& durable);

    /// Everything that the sender may not have heard is to be told again.
    [[nodiscard]] Takeover take_over(Owner owner, const wire::Hello& hello);
    /// The connection ends; a newer owner stays.
    void leave(ConnectionId connection);

    /// The head of an event came. Also forgets what the sender has been told for certain. `skipped`:
    /// how many sequences after `previous` are missing before this one.
    [[nodiscard]] Standing arrives(ConnectionId connection, const wire::EventMeta& meta, Sequence previous,
                                   std::uint64_t& skipped);
    /// A complete event is to be passed on: in hand from now on.
    [[nodiscard]] Begun begin(ConnectionId connection, Sequence sequence);
    /// It was not passed on after all. A newer connection may have been told nothing of it, because it was in hand: it
    /// says BYE, and the event comes again.
    void put_back(ConnectionId connection, Sequence sequence);
    /// An event that was begun is rejected by the receiver; it stays in hand until let_go().
    void hold_rejection(Sequence sequence, wire::RejectReason reason, std::string text);
    /// The answer to an event that was not passed on may go: its rejection, or, when it was sent again and is final,
    /// the answer that it had.
    void let_go(Sequence sequence);

    /// True when the event was in hand.
    [[nodiscard]] bool acknowledge(Sequence sequence);
    [[nodiscard]] bool reject(Sequence sequence, wire::RejectReason reason, std::string text);
    /// It was in hand, and is neither final nor there any more: it is to come again. True when it was in hand.
    [[nodiscard]] bool give_back(Sequence sequence);
    /// Its connection, if there is one, says BYE.
    void end_connection(wire::ByeReason reason, std::string text);

    /// What is to be told now, appended to `out`; at most some 64 KiB. True when there is more.
    bool take_answers(ConnectionId connection, std::uint64_t credit, bool credit_is_news, std::vector<std::byte>& out);

    [[nodiscard]] wire::SequenceSet final_sequences() const;
    [[nodiscard]] bool anything_in_hand() const;
    /// No event was ever begun on it, here or by an earlier process: it holds only what its senders have claimed.
    [[nodiscard]] bool untouched() const;

private:
    struct Rejection {
        wire::RejectReason reason;
        std::string text;
    };
    [[nodiscard]] bool owned_by(ConnectionId connection) const { return owner_ && owner_->connection == connection; }
    void forget_below(Sequence oldest_held);
    std::uint64_t reopen(wire::SequenceRange range);
    void add_rejection(Sequence sequence, wire::RejectReason reason, std::string text);
    void notify();
    void end_owner(wire::ByeReason reason, std::string text);

    mutable std::mutex mutex_;
    const std::size_t intervals_max_;
    std::optional<wire::EventFormat> format_;
    std::optional<Owner> owner_;
    wire::SequenceSet final_;
    // Of final_, what is not stored here: a sender said that it holds it no more. That is its word alone, so it is
    // believed for as long as no connection of this session says that it holds it after all.
    wire::SequenceSet given_up_;
    Sequence given_up_from_{1};        // below: too scattered to be kept, so not known any more
    std::optional<Sequence> highest_;  // that came, or could have; nothing: an earlier process received this session
    wire::SequenceSet in_hand_;
    std::map<Sequence, Rejection> rejections_;  // final, and the sender may not know
    std::map<Sequence, Rejection> held_;        // in hand: nobody may know yet
    wire::SequenceSet to_acknowledge_;          // final, not told on this connection
    std::deque<Sequence> to_reject_;
    bool notified_ = false;  // the owner has a letter already
    bool untouched_ = true;
};

}  // namespace weir::delivery
