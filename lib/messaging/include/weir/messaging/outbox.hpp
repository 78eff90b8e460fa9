// SPDX-License-Identifier: Apache-2.0
// What a station's logic sees of the network: messages that come in, and an outbox. Who runs the logic (a thread with
// sockets, or a test with a simulated network) stands behind these two; the logic itself waits for nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include "weir/base/clock.hpp"
#include "weir/base/data.hpp"
#include "weir/memory/buffer_pool.hpp"
#include "weir/wire/datagram.hpp"

namespace weir::messaging {

/// A whole message. `body` is valid during the call only, unless keep() hands its memory over.
struct IncomingMessage {
    wire::StationId from{};
    wire::DataflowType type{};
    RunNumber run{};
    ConstData body{};
    /// When the message came in several parts: the memory that `body` lies in; moving it out keeps body alive without a
    /// copy. Empty when it came in one datagram: copy what you need.
    memory::Buffer* memory = nullptr;
};

class Outbox {
public:
    virtual ~Outbox() = default;

    /// Sends once; it may be lost, doubled or overtaken. The pieces are one message; they are read before the call
    /// returns.
    virtual void send(wire::StationId to, wire::DataflowType type, std::span<const ConstData> pieces) = 0;

    /// Sends until it is acknowledged: handed to the receiver's process exactly once, in any order, unless that process
    /// ends first (PeerChange::restarted: what it had not acknowledged is dropped). A silent one gets it when it is
    /// back. False: too much is under way to this peer, or it is not heard now; ask again later.
    [[nodiscard]] virtual bool post(wire::StationId to, wire::DataflowType type, std::span<const ConstData> pieces) = 0;

    void send(wire::StationId to, wire::DataflowType type, ConstData message) {
        send(to, type, std::span(&message, 1));
    }
    [[nodiscard]] bool post(wire::StationId to, wire::DataflowType type, ConstData message) {
        return post(to, type, std::span(&message, 1));
    }
};

enum class PeerChange : std::uint8_t {
    appeared,   // heard for the first time, or again after silence, from the process that was known
    restarted,  // another process of the same station: what the old one knew is gone
    silent,     // nothing was heard for as long as the options say; posts to it are kept, new ones refused
};

/// The logic of a station as its message loop sees it. One thread makes all calls.
class MessageHandler {
public:
    virtual ~MessageHandler() = default;
    virtual void on_message(const IncomingMessage& message, SteadyTime now) = 0;
    virtual void on_peer(wire::StationId peer, PeerChange change, SteadyTime now) = 0;
    /// After each batch of messages, and when the time that it answered last has come: does what is due. Returns when
    /// it wants to be called again at the latest.
    [[nodiscard]] virtual std::optional<SteadyTime> step(SteadyTime now) = 0;
};

}  // namespace weir::messaging
