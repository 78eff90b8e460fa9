// SPDX-License-Identifier: Apache-2.0
// A connection of the receiver under any course of things: valid messages, damaged ones, any bytes, a
// sink that is full, memory that is short, answers, deadlines, a peer that goes. One thread, no clock.
// After every step the counts balance; at the end no memory is held.
#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <numeric>
#include <vector>

#include "../src/receiving/connection.hpp"
#include "weir/checksum/crc32c.hpp"

namespace {

using namespace weir;
using namespace weir::delivery;

void require(bool condition) {
    if (!condition) std::abort();
}

class Sink final : public EventSink {
public:
    std::optional<Refusal> hello(SessionId, const wire::Hello& hello) override {
        if (number(hello.session.run) % 4 == 3) return Refusal{wire::ByeReason::wrong_run, "no"};
        return std::nullopt;
    }
    Taken take(IncomingEvent& event) override {
        if (full) return Taken::full;
        require(checksum::crc32c(event.payload.data()) == event.meta.payload_crc);
        held.push_back(std::move(event));
        return Taken::yes;
    }
    bool full = false;
    std::deque<IncomingEvent> held;
};

/// Bytes of the input, as numbers; zeros after its end.
class Script {
public:
    explicit Script(ConstData data) : data_(data) {}
    [[nodiscard]] bool over() const { return data_.empty(); }
    std::uint8_t byte() {
        if (data_.empty()) return 0;
        const auto value = static_cast<std::uint8_t>(data_.front());
        data_ = data_.subspan(1);
        return value;
    }
    ConstData bytes(std::size_t count) {
        const auto part = data_.first(std::min(count, data_.size()));
        data_ = data_.subspan(part.size());
        return part;
    }

private:
    ConstData data_;
};

struct Stage {
    Stage() {
        ReceiverOptions options;
        options.event_size_max = Bytes{20'000};
        options.session_intervals_max = 16;
        options.credit_max = Bytes{1};
        context = std::make_unique<Context>(options, pool, sink, Reporter{});
        mailbox = std::make_shared<Mailbox>(transport::EventLoop::create().value());
    }
    void connect() {
        std::array<int, 2> fds{};
        require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds.data()) == 0);
        peer = transport::Socket(fds[1]);
        connection =
            std::make_unique<Connection>(*context, mailbox, memory_wanted, ++ids, transport::Socket(fds[0]), now);
    }
    void receive(ConstData bytes) {
        while (!bytes.empty() && connection->state() != Connection::State::ended) {
            const auto written = peer.write(bytes);
            if (!written || written->state != transport::Transfer::State::done) break;
            bytes = bytes.subspan(written->count);
            turn();
        }
    }
    void turn() {
        for (int i = 0; i < 4; ++i) connection->readable(staging, now);
        std::array<std::byte, 4096> answers;
        while (true) {  // so that its answers always find room
            const auto read = peer.read(answers);
            if (!read || read->state != transport::Transfer::State::done) break;
        }
        connection->writable(now);
    }
    void check() const {
        const auto stats = context->ledger.snapshot();
        const auto sum = [](const auto& counts) {
            return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
        };
        require(stats.received ==
                stats.passed_on + stats.duplicates + sum(stats.rejected_here) + stats.discarded + stats.waiting);
        require(stats.passed_on == stats.acknowledged + sum(stats.rejected_by_sink) + stats.returned + stats.in_hand);
        require(stats.in_hand == sink.held.size());
    }

    memory::BufferPool pool{Bytes{64 * 1024}};
    Sink sink;
    std::unique_ptr<Context> context;
    std::shared_ptr<Mailbox> mailbox;
    bool memory_wanted = false;
    std::vector<std::byte> staging = std::vector<std::byte>(Connection::staging_size);
    SteadyTime now{};
    ConnectionId ids = 0;
    transport::Socket peer;
    std::unique_ptr<Connection> connection;
};

std::vector<std::byte> event_of(Script& script, std::uint64_t& sequence) {
    wire::EventMeta meta;
    const auto jump = script.byte();
    sequence += jump < 200 ? 1 : jump % 8;
    if (jump >= 250) sequence = 1;
    meta.sequence = Sequence{sequence};
    meta.oldest_held = Sequence{std::max<std::uint64_t>(1, script.byte() % 2 == 0 ? sequence : sequence / 2)};
    const std::vector<std::byte> payload(1 + std::size_t{script.byte()} * 100, std::byte{script.byte()});
    meta.payload_crc = checksum::crc32c(payload);
    if (script.byte() % 8 == 0) meta.tags.push_back({"physics", script.byte() % 4 == 0 ? ".." : "Main", true, {}, {}});
    std::vector<std::byte> bytes;
    wire::encode(meta, payload.size(), bytes);
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Script script(std::as_bytes(std::span(data, size)));
    Stage stage;
    stage.connect();
    std::uint64_t sequence = 0;
    for (int steps = 0; !script.over() && steps < 200; ++steps) {
        switch (script.byte() % 13) {
            case 0: {
                wire::Hello hello;
                hello.session = {"fuzz", 1, script.byte() % 2U, RunNumber{script.byte()}};
                std::vector<std::byte> bytes;
                wire::encode(hello, bytes);
                stage.receive(bytes);
                break;
            }
            case 1:
            case 2:
            case 3: stage.receive(event_of(script, sequence)); break;
            case 4: {  // damaged somewhere
                auto bytes = event_of(script, sequence);
                bytes[(std::size_t{script.byte()} * 256 + script.byte()) % bytes.size()] ^= std::byte{script.byte()};
                stage.receive(bytes);
                break;
            }
            case 5: {  // cut
                auto bytes = event_of(script, sequence);
                bytes.resize(script.byte() % bytes.size());
                stage.receive(bytes);
                break;
            }
            case 6: stage.receive(script.bytes(script.byte())); break;
            case 7: stage.sink.full = !stage.sink.full; break;
            case 8: stage.connection->resume(stage.now); break;
            case 9:
                if (!stage.sink.held.empty()) {
                    const auto event = std::move(stage.sink.held.front());
                    stage.sink.held.pop_front();
                    const auto session = stage.context->sessions.find(event.session);
                    const bool keep = script.byte() % 4 != 0;
                    const auto reason = wire::RejectReason::late;
                    require(session != nullptr);
                    require(keep ? session->acknowledge(event.meta.sequence)
                                 : session->reject(event.meta.sequence, reason, "late"));
                    stage.context->ledger.update([&](ReceiverStats& stats) {
                        --stats.in_hand;
                        if (keep) ++stats.acknowledged;
                        else ++stats.rejected_by_sink[wire::index(reason)];
                    });
                }
                break;
            case 10: stage.connection->send_answers(stage.now); break;
            case 11:
                stage.now += std::chrono::seconds(script.byte());
                if (const auto deadline = stage.connection->deadline(); deadline && *deadline <= stage.now)
                    stage.connection->deadline_passed(stage.now);
                break;
            case 12:
                if (script.byte() % 2 == 0) stage.connection->stop_reading();
                else stage.connection->close(wire::ByeReason::stopping, "stop", stage.now);
                break;
        }
        stage.turn();
        stage.check();
        if (stage.connection->state() == Connection::State::ended) stage.connect();
    }
    stage.connection.reset();
    stage.check();
    require(stage.context->ledger.snapshot().waiting == 0);
    stage.sink.held.clear();
    require(stage.pool.stats().in_use == Bytes{0});
    return 0;
}
