// SPDX-License-Identifier: Apache-2.0
// An outbox that keeps what was said, for tests that play the others themselves.
#pragma once

#include <deque>
#include <vector>

#include "weir/messaging/outbox.hpp"
#include "weir/wire/dataflow.hpp"

namespace weir::building {

struct Said {
    wire::StationId to{};
    wire::DataflowType type{};
    bool reliable = false;
    std::vector<std::byte> body{};
};

class MemoryOutbox final : public messaging::Outbox {
public:
    using messaging::Outbox::post;
    using messaging::Outbox::send;
    void send(wire::StationId to, wire::DataflowType type, std::span<const ConstData> pieces) override {
        keep(to, type, pieces, false);
    }
    bool post(wire::StationId to, wire::DataflowType type, std::span<const ConstData> pieces) override {
        if (full) return false;
        keep(to, type, pieces, true);
        return true;
    }

    /// The messages of a type, in order; they are gone from here then.
    template <class Message>
    std::vector<std::pair<wire::StationId, Message>> take(wire::DataflowType type) {
        std::vector<std::pair<wire::StationId, Message>> found;
        std::deque<Said> rest;
        for (auto& said : all) {
            if (said.type != type) {
                rest.push_back(std::move(said));
                continue;
            }
            Message message;
            if (!decode(said.body, message)) continue;
            found.emplace_back(said.to, std::move(message));
        }
        all.swap(rest);
        return found;
    }

    bool full = false;
    std::deque<Said> all;

private:
    void keep(wire::StationId to, wire::DataflowType type, std::span<const ConstData> pieces, bool reliable) {
        Said said{.to = to, .type = type, .reliable = reliable, .body = {}};
        for (const auto& piece : pieces) said.body.insert(said.body.end(), piece.begin(), piece.end());
        all.push_back(std::move(said));
    }
};

/// Gives a handler a message as if it had come.
template <class Message>
void give(messaging::MessageHandler& to, wire::StationId from, wire::DataflowType type, const Message& message,
          SteadyTime now) {
    std::vector<std::byte> bytes;
    encode(message, bytes);
    to.on_message({.from = from, .type = type, .run = RunNumber{1}, .body = bytes}, now);
}

}  // namespace weir::building
