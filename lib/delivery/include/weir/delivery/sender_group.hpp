// SPDX-License-Identifier: Apache-2.0
// Several receivers that share the events of one station: a Sender for each, and one rule that chooses the receiver of
// the next event. Every event that was accepted is kept until it is final. A receiver that is not connected for
// `pass_over_after` while another one is gets no more events, and those that were never sent to it go to the others.
// Those that were sent and have no answer are in doubt: it may have recorded them. They wait for it, in the same
// session, until it is back and says which it has. They go to the others only when it is removed from the group,
// refuses its sender, or is lost: not connected for `move_after` while another one is; marked as sent elsewhere
// (docs/decisions/0023-one-group-of-senders.md, 0029-an-event-in-doubt-waits-for-its-recorder.md).
//
//     SenderGroup group({.sender = {.name = "ef-1", .run = run}}, final, report);
//     group.set_receivers(Choice::by_event, recorders);
//     group.send({.global_id = GlobalEventId{1}, .tags = {main_stream}}, std::span(&piece, 1), stop);
//
// Threads: send(), try_send() and stats() any; set_receivers(), look_after() and close() any, one waits for the other.
// Each receiver has the I/O thread of its Sender.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/report.hpp"
#include "weir/base/result.hpp"
#include "weir/delivery/sender.hpp"
#include "weir/wire/peer.hpp"

namespace weir::delivery {

struct InFlightEvent;

/// Who gets the next event.
enum class Choice {
    by_event,  // the receiver that it belongs to by its global id (weir/wire/recorder_choice.hpp), which it waits for
    least_loaded,  // one that is connected and has the fewest bytes to answer; those with equally many take turns, and
                   // small events go there in batches of 64 KiB
};

struct SenderGroupOptions {
    SenderOptions
        sender{};     // of each receiver; host, connection and on_final are the group's; incarnation 0: one for all
    Bytes window{0};  // payload that all receivers together have not answered; 0: sender.window for each is all
    // Of a receiver that is not connected while another one is: after this time the others get what it was never
    // sent. (Where the load decides they get what comes from the first moment on.)
    std::chrono::milliseconds pass_over_after{3'000};
    std::chrono::milliseconds move_after{60'000};  // the same, and it is lost: also what it may have; 0: never
    std::chrono::milliseconds hold_back_after{0};  // as of SenderOptions, where the event decides between several
    std::optional<std::chrono::milliseconds> reopen_after{
        1000};  // a sender that failed for good; nothing: the group fails
    // Nothing: a group whose senders are opened again never fails. Else it fails when every receiver refuses its
    // sender, or none is connected for so long; 0: not by time.
    std::optional<std::chrono::milliseconds> fail_after{};
};

class SenderGroup {
public:
    /// Once for each event that was accepted, unless close() released it: nothing = acknowledged, else rejected for
    /// this reason. `owner` is that of its first piece. Called from I/O threads, and from the caller of send() for an
    /// event that can be sent to no receiver; must not wait, and must not call the group.
    using OnFinal =
        std::function<void(const std::shared_ptr<const void>& owner, std::optional<wire::RejectReason> rejected)>;

    /// `report` gets lines for an operator, from any thread; it may be empty, and must not call the group. What is
    /// about a receiver that is lost, passed over or refuses has a key that begins with `receiver_report`.
    static constexpr std::string_view receiver_report = "receiver ";
    SenderGroup(SenderGroupOptions options, OnFinal on_final, Reporter report);
    ~SenderGroup();  // as close()

    /// The receivers from now on, by their names, kinds (for reports) and addresses for events. Senders to those that
    /// stay go on; what the others have not answered goes to those that are there now. Error: an address cannot be
    /// used; all stays as it was.
    [[nodiscard]] Result<> set_receivers(Choice choice, std::vector<Peer> receivers);

    /// Keeps the event and sends it. The first piece has an owner that keeps all of them alive. False: there is no
    /// room, or no receiver now. True also for an event that can be sent to no receiver: it is final then, and a report
    /// gives the reason.
    [[nodiscard]] bool try_send(const EventDescription& event, std::span<const Piece> payload);
    /// Waits for room. False: it was asked to stop, or the group is closed or has failed; the event was not taken.
    bool send(const EventDescription& event, std::span<const Piece> payload, const std::stop_token& stop);

    /// Looks after the senders and sends what was withdrawn; to be called every few milliseconds. Time is that of the
    /// calls.
    void look_after(SteadyTime now);
    /// No answer can come any more: every event is final, or is with a sender that failed for good.
    [[nodiscard]] bool settled() const;
    /// Of a group without reopen_after: why the first of its senders failed; of one with fail_after: why all did.
    [[nodiscard]] std::optional<Error> failure() const;

    /// Ends the senders and releases what is not final. Every waiting send() ends.
    void close();

    struct Stats {
        // accepted = acknowledged + sum(rejected) + held + released
        std::uint64_t accepted = 0, acknowledged = 0, held = 0, released = 0;
        std::array<std::uint64_t, wire::reject_reason_count> rejected{};  // by wire::index(reason)
        std::uint64_t bytes_accepted = 0, bytes_held = 0;    // payload; without events that can be sent to no receiver
        std::uint64_t connected = 0;                         // receivers, now
        std::uint64_t reconnects = 0, sent = 0, resent = 0;  // of all senders, also of those that are gone
        std::uint64_t waits = 0;                             // attempts of send() that found no room
        std::uint64_t moved = 0;                             // given to another receiver than the one that had them
        std::uint64_t in_doubt =
            0;  // by event: of lost receivers, and marked as sent before, here or by the station that sent them to us
        std::string last_problem{};  // of a connection; empty when there was none
    };
    [[nodiscard]] Stats stats() const;

private:
    struct Line;
    class Call;
    struct Member {
        Peer receiver{};
        std::shared_ptr<Line> line{};  // shared with the threads that are just sending; nullptr: to be opened
        SteadyTime open_at{};
        std::string problem{};           // why it became nullptr, or cannot be opened
        SteadyTime::duration away{};     // while another one was connected
        bool passed_over = false;        // away for `pass_over_after`; until it is connected again
        bool lost = false;               // away for `move_after`, the same
        bool withdrawing = false;        // nothing is given to it
        std::string refusal_told{};      // that was reported
        std::optional<Error> refusal{};  // why its sender failed for good; until it is connected again
    };
    struct Withdrawn {
        ReturnedEvent event{};
        Peer receiver{};    // that had it
        bool told = false;  // it was counted and reported
    };
    enum class Tried { sent, refused, full };

    [[nodiscard]] Result<std::shared_ptr<Line>> open(const Peer& receiver);
    [[nodiscard]] Tried try_send(Line& line, const EventDescription& event, std::span<const Piece> payload,
                                 std::uint64_t size);
    void end(Line& line, const InFlightEvent& event, std::optional<wire::RejectReason> rejected);

    using Lines = std::vector<std::shared_ptr<Line>>;

    // With mutex_. The receiver that gets the event, none of `full`; nullptr: there is none. `in_doubt`: it was sent
    // before.
    [[nodiscard]] const Member* choose(GlobalEventId event, bool in_doubt, std::uint64_t size, const Lines& full);
    [[nodiscard]] const Member* owner_of(GlobalEventId event, bool in_doubt) const;
    [[nodiscard]] const Member* least_loaded(std::uint64_t size, const Lines& full);

    // With changing_.
    void look_after(Member& member, SteadyTime now, SteadyTime::duration passed, bool any_connected);
    void judge(SteadyTime::duration passed, bool any_connected);
    void fail_with(const Error& error);
    [[nodiscard]] std::size_t withdraw(Member& member);
    void withdraw_unsent(Member& member);
    void report(const Peer& receiver, std::string what) const;
    [[nodiscard]] bool others_get_them(const Peer& receiver) const;
    [[nodiscard]] std::string problem() const;
    void reopen(Member& member, SteadyTime now);
    void lost(const Peer& receiver, const std::string& why, Choice had);
    void send_withdrawn();

    SenderGroupOptions options_;  // of `sender` what the next connection gets, with changing_; the rest is constant
    const OnFinal on_final_;
    const Reporter report_;

    mutable std::mutex changing_;       // one change of members at a time; taken before mutex_. Of the next two too
    std::vector<Withdrawn> withdrawn_;  // in the window still
    std::chrono::milliseconds hold_back_{0};  // of senders that are opened
    std::optional<SteadyTime> looked_at_;
    SteadyTime::duration alone_{};  // without any connection

    mutable std::mutex mutex_;  // of the next ones; not held in calls that send, wait or are the owner's
    std::condition_variable room_;
    std::vector<Member> members_;  // by name; changed with both mutexes
    Choice choice_{};
    std::size_t latest_ = 0;        // least loaded: which was chosen
    std::uint64_t batch_left_ = 0;  // bytes that go there too
    std::optional<Error> failure_;
    bool closed_ = false;
    std::uint64_t past_reconnects_ = 0, past_sent_ = 0, past_resent_ = 0;  // of senders that are gone

    std::atomic<std::uint64_t> bytes_{0};  // accepted and not final, and of an attempt to send
    std::atomic<std::uint64_t> rooms_{0};  // times that there was reason to try again
    std::atomic<std::uint32_t> waiting_{
        0};  // threads in send(): seq_cst with rooms_, so that one of both sees the other
    // Statistics: relaxed.
    std::atomic<std::uint64_t> accepted_{0}, bytes_accepted_{0}, acknowledged_{0}, waits_{0}, moved_{0}, in_doubt_{0};
    std::array<std::atomic<std::uint64_t>, wire::reject_reason_count> rejected_{};
};

}  // namespace weir::delivery
