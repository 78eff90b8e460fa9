// SPDX-License-Identifier: Apache-2.0
// Stations that stand around one that is measured: a loop with a small logic of its own, and a DFM that has room for
// everything that is decided.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/named_thread.hpp"
#include "weir/messaging/message_loop.hpp"
#include "weir/wire/dataflow.hpp"
#include "weir/wire/peer.hpp"

namespace weir::app {

inline messaging::MessageLoopOptions loop_of(wire::StationId id) {
    messaging::MessageLoopOptions options;
    options.endpoint.self = id;
    options.endpoint.epoch = wire::Epoch{1};
    return options;
}

/// Has room for everything that the supervisor decides, and counts what it accepts.
class RoomyAssigner final : public messaging::MessageHandler {
public:
    RoomyAssigner(messaging::Endpoint& endpoint, wire::StationId supervisor)
        : endpoint_(endpoint), supervisor_(supervisor) {}
    void on_message(const messaging::IncomingMessage& message, SteadyTime) override {
        if (message.type == wire::DataflowType::accept && decode(message.body, accept_))
            accepted_.fetch_add(accept_.accepted.size(), std::memory_order_relaxed);
    }
    void on_peer(wire::StationId, messaging::PeerChange, SteadyTime) override {}
    std::optional<SteadyTime> step(SteadyTime now) override {
        if (sent_) return now + std::chrono::milliseconds(50);
        std::vector<std::byte> bytes;
        encode(wire::AcceptCredit{.credit = std::uint64_t{1} << 60}, bytes);
        sent_ = endpoint_.send_reliably(supervisor_, wire::DataflowType::accept_credit, bytes);
        return now + std::chrono::milliseconds(1);
    }
    [[nodiscard]] std::uint64_t accepted() const noexcept { return accepted_.load(std::memory_order_relaxed); }

private:
    messaging::Endpoint& endpoint_;
    const wire::StationId supervisor_;
    wire::Accept accept_;
    std::atomic<std::uint64_t> accepted_{0};  // relaxed: a figure
    bool sent_ = false;
};

/// A loop with a small logic of ours.
template <class Logic>
struct Surrounding {
    Surrounding(wire::StationId id, memory::BufferPool& pool, const Clock& clock)
        : station(id), loop(messaging::MessageLoop::open(loop_of(id), pool, clock)) {}

    [[nodiscard]] Peer peer(StationKind kind) const {
        return {.name = "around",
                .kind = kind,
                .id = station,
                .dataflow = "127.0.0.1:" + std::to_string((*loop)->port()),
                .events = {},
                .sources = {}};
    }
    template <class... More>
    Result<> begin(RunNumber run, const Peer& other, More... more) {
        const auto address = WEIR_TRY(transport::parse_host_port(other.dataflow));
        WEIR_TRY((*loop)->set_peers({{.id = other.id, .address = address, .watched = true}}));
        (*loop)->endpoint().set_run(run);
        logic.emplace((*loop)->endpoint(), more...);
        thread = NamedThread(nullptr, "around", [this](const std::stop_token& stop) { (*loop)->run(stop, *logic); });
        return {};
    }

    wire::StationId station;
    Result<std::unique_ptr<messaging::MessageLoop>> loop;
    std::optional<Logic> logic;
    NamedThread thread;
};

}  // namespace weir::app
