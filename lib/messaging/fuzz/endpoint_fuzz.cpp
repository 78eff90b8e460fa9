// SPDX-License-Identifier: Apache-2.0
// An endpoint under any sequence of inputs: datagrams with arbitrary headers (the checksum is corrected, or none would
// be accepted), parts that contradict each other, acknowledgements of messages that were never sent, time that passes,
// peers and runs that change, reliable and other messages in between. Counts balance after every datagram; at the end
// no memory is held.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "weir/messaging/endpoint.hpp"

namespace {

using namespace weir;
using namespace weir::messaging;
using wire::DataflowType;
using wire::StationId;

void require(bool condition) {
    if (!condition) std::abort();
}

constexpr std::uint32_t key = 3;
constexpr wire::Epoch own_epoch{5};

class Discard final : public Link {
public:
    bool carry(StationId, std::span<const ConstData> datagram) override {
        bytes_.clear();
        for (const auto piece : datagram) bytes_.insert(bytes_.end(), piece.begin(), piece.end());
        require(wire::decode_datagram(bytes_, key).has_value());  // every datagram that goes out is valid
        return bytes_.size() % 7 != 0;
    }
    [[nodiscard]] std::size_t datagram_max(StationId) const override { return datagram_max_least; }
    void flush() override {}

private:
    std::vector<std::byte> bytes_;
};

class Handler final : public MessageHandler {
public:
    explicit Handler(Endpoint*& endpoint) : endpoint_(endpoint) {}
    void on_message(const IncomingMessage& message, SteadyTime) override {
        ++messages;
        require(message.body.size() <= wire::dataflow_message_max);
        for (const auto byte : message.body) sum += std::to_integer<unsigned>(byte);  // all of it can be read
        if (sum % 3 == 0) static_cast<void>(endpoint_->send_reliably(message.from, DataflowType::built, message.body));
        if (sum % 5 == 0) endpoint_->send(message.from, DataflowType::data, message.body);
    }
    void on_peer(StationId peer, PeerChange change, SteadyTime) override {
        if (change == PeerChange::silent && number(peer) % 2 == 0) endpoint_->remove_peer(peer);
    }
    std::optional<SteadyTime> step(SteadyTime) override { return std::nullopt; }
    std::uint64_t messages = 0, sum = 0;

private:
    Endpoint*& endpoint_;
};

class Input {
public:
    explicit Input(ConstData data) : data_(data) {}
    [[nodiscard]] bool empty() const noexcept { return data_.empty(); }
    std::uint8_t byte() {
        if (data_.empty()) return 0;
        const auto value = std::to_integer<std::uint8_t>(data_.front());
        data_ = data_.subspan(1);
        return value;
    }
    ConstData take(std::size_t size) {
        const auto taken = data_.first(std::min(size, data_.size()));
        data_ = data_.subspan(taken.size());
        return taken;
    }

private:
    ConstData data_;
};

std::vector<std::byte> forge(Input& in) {
    const auto shape = in.byte();
    const auto body = in.take(in.byte());
    std::vector<std::byte> bytes(wire::datagram_header_size + body.size());
    std::ranges::copy(body, bytes.begin() + wire::datagram_header_size);
    if ((shape & 0x0c) == 0x0c && body.size() < 256)
        bytes.resize(wire::datagram_header_size + 256);  // a part that is not the last
    const auto part = ConstData(bytes).subspan(wire::datagram_header_size);
    const auto size = static_cast<std::uint32_t>(part.size());
    const bool whole = (shape & 0x04) == 0;
    const std::uint32_t parts = whole ? 1 : 2U + in.byte() % 8;
    const std::uint32_t index = whole ? 0 : in.byte() % parts;
    wire::DatagramHeader header{.type = static_cast<DataflowType>(1 + in.byte() % 14),
                                .reliable = (shape & 1) != 0,
                                .from = StationId{static_cast<std::uint16_t>(1 + in.byte() % 4)},
                                .run = RunNumber{in.byte() % 3U},
                                .epoch = wire::Epoch{1U + in.byte() % 3U},
                                .to_epoch = (shape & 2) != 0 ? own_epoch : wire::Epoch{},
                                .message = 1U + in.byte(),
                                .message_size = whole ? size : size * parts - in.byte() % 3U,
                                .offset = index * size,
                                .part_size = size};
    if ((shape & 0x40) != 0) header.message <<= in.byte() % 56;
    if (header.message_size < header.offset + size) header.message_size = header.offset + size;
    wire::encode_datagram_header(std::span(bytes).first<wire::datagram_header_size>(), header, std::span(&part, 1),
                                 key);
    if ((shape & 0x80) != 0 && !bytes.empty()) bytes.resize(bytes.size() - in.byte() % bytes.size());
    return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input in(std::as_bytes(std::span(data, size)));
    memory::BufferPool pool(Bytes{1U << 20});
    Discard link;
    Endpoint* at = nullptr;
    Handler handler(at);
    {
        Endpoint endpoint({.self = StationId{9},
                           .epoch = own_epoch,
                           .key = key,
                           .reliable_max = 64,
                           .reliable_bytes_max = Bytes{64U << 10},
                           .assemblies_max = 4},
                          link, pool);
        at = &endpoint;
        SteadyTime now{std::chrono::seconds(1)};
        for (std::uint16_t id = 1; id <= 3; ++id) endpoint.add_peer(StationId{id}, id != 2);
        endpoint.set_run(RunNumber{1});
        while (!in.empty()) {
            const auto what = in.byte();
            const StationId peer{static_cast<std::uint16_t>(1 + what / 16 % 4)};
            switch (what % 16) {
                case 0: now += std::chrono::milliseconds(1 << in.byte() % 13); break;
                case 1: require(endpoint.step(now, handler) >= SteadyTime{}); break;
                case 2: endpoint.set_run(RunNumber{in.byte() % 3U}); break;
                case 3: endpoint.add_peer(peer, in.byte() % 2 == 0); break;
                case 4: endpoint.remove_peer(peer); break;
                case 5: {
                    const std::vector<std::byte> message(std::size_t{8} * in.byte());
                    const auto before = endpoint.reliable_in_flight();
                    const bool taken = endpoint.send_reliably(peer, DataflowType::clear, message);
                    require(endpoint.reliable_in_flight() == before + (taken ? 1U : 0U) && before <= 4 * 64);
                    break;
                }
                case 6: endpoint.receive(in.take(in.byte()), now, handler); break;  // any bytes
                default: {
                    const auto before = endpoint.stats();
                    const auto bytes = forge(in);
                    endpoint.receive(bytes, now, handler);
                    require(endpoint.stats().datagrams_received == before.datagrams_received + 1);
                    break;
                }
            }
        }
        const auto& stats = endpoint.stats();
        require(handler.messages <= stats.messages_received);
        require(stats.malformed + stats.foreign_run + stats.stale_epoch + stats.unknown_station + stats.duplicates +
                    stats.inconsistent + stats.no_memory + stats.messages_received <=
                stats.datagrams_received);
    }
    require(pool.stats().in_use == Bytes{0});
    return 0;
}
