// SPDX-License-Identifier: Apache-2.0
// What an endpoint costs for each message of one datagram, in and out, without a socket: header, crc32c, dispatch. The
// argument is the size of the message. `crc` is the part of it that the checksum alone takes. And the message loop over
// loopback, two threads, with the kernel's share.
#include <benchmark/benchmark.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "weir/checksum/crc32c.hpp"
#include "weir/messaging/message_loop.hpp"

namespace {

using namespace weir;
using namespace weir::messaging;
using wire::DataflowType;
using wire::StationId;

class Keep final : public Link {
public:
    bool carry(StationId, std::span<const ConstData> datagram) override {
        last.clear();
        for (const auto piece : datagram) last.insert(last.end(), piece.begin(), piece.end());
        return true;
    }
    [[nodiscard]] std::size_t datagram_max(StationId) const override { return 65'507; }
    void flush() override {}
    std::vector<std::byte> last;
};

class Count final : public MessageHandler {
public:
    void on_message(const IncomingMessage& message, SteadyTime) override {
        bytes.fetch_add(message.body.size(), std::memory_order_relaxed);
        messages.fetch_add(1, std::memory_order_relaxed);
    }
    void on_peer(StationId, PeerChange, SteadyTime) override {}
    std::optional<SteadyTime> step(SteadyTime) override { return std::nullopt; }
    std::atomic<std::uint64_t> bytes{0}, messages{0};
};

EndpointOptions identity(std::uint16_t id) { return {.self = StationId{id}, .epoch = wire::Epoch{id}}; }

struct Pair {
    Pair() {
        a.add_peer(StationId{2}, false);
        b.add_peer(StationId{1}, false);
        a.set_run(RunNumber{1});
        b.set_run(RunNumber{1});
    }
    memory::BufferPool pool{Bytes{64U << 20}};
    Keep from_a, from_b;
    Endpoint a{identity(1), from_a, pool}, b{identity(2), from_b, pool};
    Count count;
};

void message_sent(benchmark::State& state) {
    Pair pair;
    const std::vector<std::byte> message(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) pair.a.send(StationId{2}, DataflowType::data, message);
}

void message_received(benchmark::State& state) {
    Pair pair;
    pair.a.send(StationId{2}, DataflowType::data, std::vector<std::byte>(static_cast<std::size_t>(state.range(0))));
    const auto now = std::chrono::steady_clock::now();
    for (auto _ : state) pair.b.receive(pair.from_a.last, now, pair.count);
}

void crc(benchmark::State& state) {
    const std::vector<std::byte> message(static_cast<std::size_t>(state.range(0)) + wire::datagram_header_size);
    for (auto _ : state) benchmark::DoNotOptimize(checksum::crc32c(message));
}

BENCHMARK(message_sent)->Arg(64)->Arg(1400)->Arg(60'000);
BENCHMARK(message_received)->Arg(64)->Arg(1400)->Arg(60'000);
BENCHMARK(crc)->Arg(64)->Arg(1400)->Arg(60'000);

/// Messages of this size from one loop to another, a few hundred in flight.
void over_loopback(benchmark::State& state) {
    const auto input = static_cast<InputThread>(state.range(1));
    const std::vector<std::byte> message(static_cast<std::size_t>(state.range(0)));
    memory::BufferPool pool{Bytes{64U << 20}};
    SystemClock clock;
    Count received, nothing;
    const auto open = [&](std::uint16_t id) {
        return MessageLoop::open({.datagram_max = 65'507, .input = input, .endpoint = identity(id)}, pool, clock)
            .value();
    };
    auto a = open(1), b = open(2);
    a->endpoint().set_run(RunNumber{1});
    b->endpoint().set_run(RunNumber{1});
    static_cast<void>(a->set_peers({{StationId{2}, {"127.0.0.1", b->port()}}}));
    static_cast<void>(b->set_peers({{StationId{1}, {"127.0.0.1", a->port()}}}));
    std::jthread receiver([&](const std::stop_token& stop) { b->run(stop, received); });
    std::jthread sender([&](const std::stop_token& stop) { a->run(stop, nothing); });
    constexpr std::uint64_t burst = 256;
    std::uint64_t sent = 0;
    for (auto _ : state) {
        a->call([&] {
            for (std::uint64_t i = 0; i < burst; ++i) a->endpoint().send(StationId{2}, DataflowType::data, message);
        });
        sent += burst;
        const auto patience = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
        while (received.messages.load(std::memory_order_relaxed) + 2 * burst < sent &&
               std::chrono::steady_clock::now() < patience)
            std::this_thread::yield();
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(sent));
    state.SetBytesProcessed(static_cast<std::int64_t>(received.bytes.load()));
    sender = {};
    receiver = {};
    const auto stats = b->stats();
    state.counters["lost"] = static_cast<double>(sent - received.messages.load());
    state.counters["kernel_drops"] = static_cast<double>(stats.kernel_drops);
    state.counters["receive_calls"] = static_cast<double>(stats.receive_calls);
    state.counters["wakes"] = static_cast<double>(stats.wakes);
}
BENCHMARK(over_loopback)->ArgsProduct({{64, 1400, 60'000}, {0, 1, 2}})->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
