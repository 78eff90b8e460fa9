// SPDX-License-Identifier: Apache-2.0
// What every station of the dataflow has around its logic: the sockets, the memory of its messages, the links to the
// kinds of stations that it speaks with, the thread that runs the logic from connect to disconnect, and whether a run
// goes on. So a station consists of its logic and of what each transition means to it.
//
// Transitions are made by one thread. `work` that they are given is done by the loop's thread, and waited for; where
// there is none (before connect() and after disconnect()), at once.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/named_thread.hpp"
#include "weir/base/result.hpp"
#include "weir/memory/buffer_pool.hpp"
#include "weir/messaging/message_loop.hpp"
#include "weir/wire/peer.hpp"

namespace weir::messaging {

/// The peers of these kinds; a link is over TCP when either end wants it. Errc::usage: one has no address.
[[nodiscard]] Result<std::vector<LinkPeer>> links_to(const std::vector<Peer>& peers,
                                                     const std::vector<StationKind>& kinds, LinkKind link,
                                                     const std::vector<StationKind>& watched);

/// The logic of a station as its loop sees it. The loop's thread makes all calls.
class LoopLogic {
public:
    virtual ~LoopLogic() = default;
    /// While a run goes on; what comes otherwise is discarded.
    virtual void on_message(const IncomingMessage& message, SteadyTime now) = 0;
    virtual void on_peer(wire::StationId peer, PeerChange change, SteadyTime now) = 0;
    /// Before each step, and likewise when no run goes on: takes what other threads have handed in.
    virtual void collect() {}
    /// While a run goes on, after each batch of messages and when the time that it answered last has come: does what is
    /// due. Returns when it wants to be called again at the latest.
    [[nodiscard]] virtual std::optional<SteadyTime> step(SteadyTime now) = 0;
    /// Publishes the status: now and then, when a run begins, drains and ends, and after each step while it drains.
    virtual void publish_status() {}
};

struct StationLoopOptions {
    std::string thread{};  // its name
    MessageLoopOptions loop{};
    LinkKind link = LinkKind::udp;  // what we want; a peer that wants TCP gets it
    std::vector<StationKind> speaks_with{};
    std::vector<StationKind> watches{};  // of these: those whose silence must be noticed
    Bytes memory{64ULL << 20};           // of messages that come in several parts, and whatever the logic takes from it
    std::optional<std::chrono::milliseconds> probe{};  // so long at connect: do full datagrams reach every peer?
    std::chrono::milliseconds status_interval{50};     // 0: the status is never published
};

class StationLoop final : private MessageHandler {
public:
    /// Opens the sockets. An endpoint without an epoch gets the time: a later process of the same station, and this one
    /// when it is configured again, has a later number. Error: see MessageLoop::open().
    [[nodiscard]] static Result<std::unique_ptr<StationLoop>> open(StationLoopOptions options, const Clock& clock);
    ~StationLoop() override;

    [[nodiscard]] std::string address() const;     // where others reach it
    [[nodiscard]] MessageLoopStats stats() const;  // any thread
    [[nodiscard]] memory::BufferPool& pool() noexcept;
    [[nodiscard]] Endpoint& endpoint() noexcept;  // from the loop's thread, and where there is none
    [[nodiscard]] bool running() const noexcept;  // likewise: a run goes on (also while it drains)

    /// Links to the peers, and runs the logic from now on: it outlives disconnect(). Error: a peer cannot be linked to,
    /// or did not answer the probe; then nothing runs, and after the probe no links are left either.
    [[nodiscard]] Result<> connect(const std::vector<Peer>& peers, LoopLogic& logic);
    /// Nothing runs any more, also when it was in the middle of a run. The links stay until the next connect().
    void disconnect();

    /// Links to these from now on, and then does the work. Error: that cannot be, all stays as it was.
    [[nodiscard]] Result<> change_peers(const std::vector<Peer>& peers, const std::function<void()>& work = {});

    /// While connected: messages of this run are sent and taken from now on; first comes the work.
    void begin_run(RunNumber run, const std::function<void()>& work = {});
    /// The run goes on, and the station's stop waits until nothing is in hand.
    void drain(const std::function<void()>& work = {});
    /// Takes no message and makes no step any more; what is collected may still be sent to others.
    void halt();
    /// Neither sends nor takes a message any more, once the work is done.
    void end_run(const std::function<void()>& work = {});

    /// Has `work` done by the loop's thread, and waits for it. What it throws is thrown here.
    void in_loop(const std::function<void()>& work);
    /// From any thread: `work` is done soon by the loop's thread, which then collects. Not waited for. Where
    /// there is no thread it is kept, and done after the next connect(): what it refers to must still be there.
    void call(std::function<void()> work);

private:
    enum class Phase { idle, running, draining };

    explicit StationLoop(StationLoopOptions options);
    [[nodiscard]] Result<std::vector<LinkPeer>> links(const std::vector<Peer>& peers) const;
    void on_message(const IncomingMessage& message, SteadyTime now) override;
    void on_peer(wire::StationId peer, PeerChange change, SteadyTime now) override;
    [[nodiscard]] std::optional<SteadyTime> step(SteadyTime now) override;

    const StationLoopOptions options_;
    memory::BufferPool pool_;
    std::unique_ptr<MessageLoop> loop_;
    LoopLogic* logic_ = nullptr;  // while connected
    Phase phase_ = Phase::idle;   // of the loop's thread, like the next
    SteadyTime published_ = SteadyTime::min();
    NamedThread thread_;  // the last member: it uses all others
};

}  // namespace weir::messaging
