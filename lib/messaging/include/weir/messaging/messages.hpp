// SPDX-License-Identifier: Apache-2.0
// The network as a station's logic sees it: a handler for incoming messages, and a sender. A thread with sockets or a
// test with a simulated network implements the rest; the logic itself waits for nothing.
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
    /// The memory that `body` lies in, when the message came in several parts: moving it out keeps body valid without a
    /// copy. Null when the message came in one datagram: copy what you need.
    memory::Buffer* memory = nullptr;
};

class MessageSender {
public:
    virtual ~MessageSender() = default;

    /// Sends once; the message may be lost, duplicated or overtaken. The pieces are one message; they are read before
    /// the call returns.
    virtual void send(wire::StationId to, wire::DataflowType type, std::span<const ConstData> pieces) = 0;

    /// Sends a reliable message: repeated until it is acknowledged, delivered to the receiver's process exactly once,
    /// in any order, unless that process ends first (PeerChange::restarted: what it had not acknowledged is discarded).
    /// A silent peer gets it when it is reachable again. False: too much is in flight to this peer, or it is not
    /// reachable now; try again later.
    [[nodiscard]] virtual bool send_reliably(wire::StationId to, wire::DataflowType type,
                                             std::span<const ConstData> pieces) = 0;

    void send(wire::StationId to, wire::DataflowType type, ConstData message) {
        send(to, type, std::span(&message, 1));
    }
    [[nodiscard]] bool send_reliably(wire::StationId to, wire::DataflowType type, ConstData message) {
        return send_reliably(to, type, std::span(&message, 1));
    }
};

enum class PeerChange : std::uint8_t {
    appeared,   // reachable for the first time, or again after silence and still the same process
    restarted,  // another process of the same station: the state of the old one is lost
    silent,     // no datagram for EndpointOptions::silent_after; its reliable messages are kept, new ones not taken
};

/// The logic of a station as its message loop sees it. One thread makes all calls.
class MessageHandler {
public:
    virtual ~MessageHandler() = default;
    virtual void on_message(const IncomingMessage& message, SteadyTime now) = 0;
    virtual void on_peer(wire::StationId peer, PeerChange change, SteadyTime now) = 0;
    /// Does what is due. Called after each batch of messages, and at the time that the last call returned. Returns the
    /// latest time for the next call.
    [[nodiscard]] virtual std::optional<SteadyTime> step(SteadyTime now) = 0;
};

}  // namespace weir::messaging
