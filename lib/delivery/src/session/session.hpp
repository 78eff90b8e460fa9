// SPDX-License-Identifier: Apache-2.0
// What a receiver knows of one session: which sequences are final, which are in hand, and what its sender
// has not been sent yet. Sessions outlive connections; a connection takes its session over and is then the only one
// that may begin events of it. All calls from any thread.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "receiving/mailbox.hpp"
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
        bool too_old =
            false;  // its sender may hold sequences that are not known here any more; then nothing was changed
        std::uint64_t reopened = 0;    // abandoned sequences that its sender still holds
        std::uint64_t never_came = 0;  // sequences that never came, and that its sender does not hold any more
        std::optional<Owner> former;   // its connection is to be ended
        wire::SequenceSet durable;     // for WELCOME
    };
    enum class Standing { fresh, in_hand, final, scattered, not_owner };
    enum class Begun { yes, duplicate, not_owner };

    Session(SessionId session_id, wire::SessionKey session_key, std::size_t intervals_max)
        : id(session_id), key(std::move(session_key)), intervals_max_(intervals_max) {}

    const SessionId id;
    const wire::SessionKey key;

    void restore(const wire::SequenceSet& durable);

    /// All answers that the sender may not have received are to be sent again.
    [[nodiscard]] Takeover take_over(Owner owner, const wire::Hello& hello);
    /// The connection ends; a newer owner stays.
    void disconnected(ConnectionId connection);

    /// The head of an event came. Also erases what the sender has received for certain. `skipped`:
    /// how many sequences after `previous` are missing before this one.
    [[nodiscard]] Standing arrives(ConnectionId connection, const wire::EventMeta& meta, Sequence previous,
                                   std::uint64_t& skipped);
    /// A complete event is to be passed on: in hand from now on.
    [[nodiscard]] Begun begin(ConnectionId connection, Sequence sequence);
    /// It was not passed on after all. A newer connection may have been sent no answer to it, because it was in hand:
    /// it is closed, and the event comes again.
    void undo_begin(ConnectionId connection, Sequence sequence);
    /// An event that was begun is rejected by the receiver; it stays in hand until answer().
    void hold_rejection(Sequence sequence, wire::RejectReason reason, std::string text);
    /// The answer to an event that was not passed on may be sent: its rejection, or, when it was sent again and is
    /// final, the answer that it had.
    void answer(Sequence sequence);

    /// True when the event was in hand. `refused`: of a block, the records that are not taken.
    [[nodiscard]] bool acknowledge(Sequence sequence, std::vector<wire::Refusal> refused = {});
    [[nodiscard]] bool reject(Sequence sequence, wire::RejectReason reason, std::string text);
    /// It was in hand, and is neither final nor in hand any more: it is returned. True when it was in hand.
    [[nodiscard]] bool return_event(Sequence sequence);
    /// Its connection, if there is one, is closed with BYE.
    void end_connection(wire::ByeReason reason, std::string text);

    /// The answers to be sent now, appended to `out`; at most some 64 KiB. True when there is more.
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
    void erase_below(Sequence oldest_held);
    void erase_refusals_below(Sequence oldest_held);
    std::uint64_t reopen(wire::SequenceRange range);
    void add_rejection(Sequence sequence, wire::RejectReason reason, std::string text);
    void notify();
    void end_owner(wire::ByeReason reason, std::string text);

    mutable std::mutex mutex_;
    const std::size_t intervals_max_;
    std::optional<wire::EventFormat> format_;
    std::optional<Owner> owner_;
    wire::SequenceSet final_;
    // Of final_, what is not stored here: a HELLO or EVENT of a sender excluded them from what it holds. They count as
    // final until a connection of this session holds them after all.
    wire::SequenceSet abandoned_;
    Sequence abandoned_from_{1};       // below: too scattered to be kept, so not known any more
    std::optional<Sequence> highest_;  // that came, or could have; nothing: an earlier process received this session
    wire::SequenceSet in_hand_;
    std::map<Sequence, Rejection> rejections_;  // final, and the sender may not know
    std::map<Sequence, Rejection> held_;        // in hand: no answer is sent yet
    wire::SequenceSet to_acknowledge_;          // final, not sent on this connection
    std::deque<Sequence> to_reject_;
    // Of blocks: final, and the sender may not know.
    std::map<Sequence, std::vector<wire::Refusal>> refusals_;
    std::size_t refused_records_ = 0;  // in refusals_
    std::deque<Sequence> to_refuse_;
    bool notified_ = false;  // the owner has a request already
    bool untouched_ = true;
};

}  // namespace weir::delivery
