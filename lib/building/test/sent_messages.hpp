// SPDX-License-Identifier: Apache-2.0
// A MessageSender that records the messages, for tests that play the other stations themselves.
#pragma once

#include <deque>
#include <vector>

#include "weir/messaging/messages.hpp"
#include "weir/wire/dataflow.hpp"

namespace weir::building {

struct SentMessage {
    wire::StationId to{};
    wire::DataflowType type{};
    bool reliable = false;
    std::vector<std::byte> body{};
};

class SentMessages final : public messaging::MessageSender {
public:
    using messaging::MessageSender::send;
    using messaging::MessageSender::send_reliably;
    void send(wire::StationId to, wire::DataflowType type, std::span<const ConstData> pieces) override {
        keep(to, type, pieces, false);
    }
    bool send_reliably(wire::StationId to, wire::DataflowType type, std::span<const ConstData> pieces) override {
        if (full) return false;
        keep(to, type, pieces, true);
        return true;
    }

    /// Removes and returns the messages of a type, in order.
    template <class Message>
    std::vector<std::pair<wire::StationId, Message>> take(wire::DataflowType type) {
        std::vector<std::pair<wire::StationId, Message>> found;
        std::deque<SentMessage> rest;
        for (auto& sent : all) {
            if (sent.type != type) {
                rest.push_back(std::move(sent));
                continue;
            }
            Message message;
            if (!decode(sent.body, message)) continue;
            found.emplace_back(sent.to, std::move(message));
        }
        all.swap(rest);
        return found;
    }

    bool full = false;
    std::deque<SentMessage> all;

private:
    void keep(wire::StationId to, wire::DataflowType type, std::span<const ConstData> pieces, bool reliable) {
        SentMessage sent{.to = to, .type = type, .reliable = reliable, .body = {}};
        for (const auto& piece : pieces) sent.body.insert(sent.body.end(), piece.begin(), piece.end());
        all.push_back(std::move(sent));
    }
};

/// Calls a handler with a message as if it had been received.
template <class Message>
void give(messaging::MessageHandler& to, wire::StationId from, wire::DataflowType type, const Message& message,
          SteadyTime now) {
    std::vector<std::byte> bytes;
    encode(message, bytes);
    to.on_message({.from = from, .type = type, .run = RunNumber{1}, .body = bytes}, now);
}

}  // namespace weir::building
