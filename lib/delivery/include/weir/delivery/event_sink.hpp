// SPDX-License-Identifier: Apache-2.0
// What a receiver hands on, and to whom. An IncomingEvent owns everything about one event: moving it is
// the handover; destroying it releases its memory and returns the sender's credit.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "weir/base/ids.hpp"
#include "weir/memory/buffer_pool.hpp"
#include "weir/wire/message.hpp"

namespace weir::delivery {

/// Short name of a session within one Receiver; the same for all connections of the session.
enum class SessionId : std::uint32_t {};

/// Bytes that a sender may send again once they are returned. Returned by destruction, from any thread.
class CreditHold {
public:
    /// Where returned bytes are counted; one per connection.
    class Account {
    public:
        virtual ~Account() = default;
        virtual void return_credit(std::uint64_t bytes) noexcept = 0;
    };

    CreditHold() = default;
    // Shared between the connection and its events that are still in flight when it ends.
    CreditHold(std::shared_ptr<Account> account, std::uint64_t bytes) noexcept
        : account_(std::move(account)), bytes_(bytes) {}
    CreditHold(CreditHold&&) noexcept = default;
    CreditHold& operator=(CreditHold&& other) noexcept {
        if (this != &other) {
            return_credit();
            account_ = std::move(other.account_);
            bytes_ = other.bytes_;
        }
        return *this;
    }
    ~CreditHold() { return_credit(); }

    void return_credit() noexcept {
        if (const auto account = std::exchange(account_, nullptr)) account->return_credit(bytes_);
    }

private:
    std::shared_ptr<Account> account_;
    std::uint64_t bytes_ = 0;
};

struct IncomingEvent {
    SessionId session{};
    wire::EventFormat format = wire::EventFormat::opaque;
    wire::EventMeta meta{};         // sequence, ids, tags (their words are valid), flags
    memory::Buffer payload{};       // from the receiver's pool, which outlives it
    std::uint32_t payload_crc = 0;  // crc32c of the bytes as received; equal to meta.payload_crc
    CreditHold credit{};            // the last member: returned after the memory
};

enum class Taken {
    yes,   // the event was moved from; it will be answered by acknowledge() or reject()
    full,  // it was not moved from; the sink calls Receiver::retry() when it has room again
};

enum class AnswerTime { now, later };

/// Refuses a connection.
struct Refusal {
    wire::ByeReason reason = wire::ByeReason::wrong_run;
    std::string text{};
};

/// Called by the receiver's threads, concurrently; the events of one session one by one, in the order sent. A call must
/// not wait, as it holds up every connection of its thread (but a recorder's take(), for a new file or a full queue).
class EventSink {
public:
    virtual ~EventSink() = default;

    /// The run of a sender that names none; nothing: it must name one.
    [[nodiscard]] virtual std::optional<RunNumber> joined_run() { return std::nullopt; }

    /// What is answered to a sender that names no run when joined_run() gives none.
    [[nodiscard]] virtual Refusal no_run_to_join() const {
        return {wire::ByeReason::wrong_run, "it names no run, and here it must"};
    }

    /// A sender sends HELLO: an answer refuses it. Called for each connection, so a session may come again;
    /// the session's id is the same each time.
    [[nodiscard]] virtual std::optional<Refusal> hello(SessionId session, const wire::Hello& hello) = 0;

    /// A session without any event has no connection any more (or was refused): its id will not come again.
    virtual void session_closed(SessionId session) { static_cast<void>(session); }

    /// Every taken event is answered once, by Receiver::acknowledge or reject, from any thread, at any
    /// time from now on (also before take returns).
    [[nodiscard]] virtual Taken take(IncomingEvent& event) = 0;

    /// The receiver itself ended an event that it did not pass on (a duplicate, a wrong
    /// checksum, ...): for ledgers that count by stream. The sink may take the credit and hold it.
    virtual void not_passed_on(SessionId session, const wire::EventMeta& event, wire::RejectReason reason,
                               CreditHold& credit) {
        static_cast<void>(session);
        static_cast<void>(event);
        static_cast<void>(reason);
        static_cast<void>(credit);
    }
    /// `later`: the answer to an event that was not passed on waits for Receiver::answer(), which the sink calls once
    /// for each, from any thread, also before not_passed_on() returns. Always the same.
    [[nodiscard]] virtual AnswerTime not_passed_on_is_answered() const { return AnswerTime::now; }
};

}  // namespace weir::delivery
