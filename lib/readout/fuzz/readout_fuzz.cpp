// SPDX-License-Identifier: Apache-2.0
// Any bytes as each message that a readout takes from outside: nothing may be read or kept that was not checked, and
// every message is counted.
#include <cstdint>

#include "intake/fragment_intake.hpp"
#include "readout_node.hpp"
#include "weir/base/assert.hpp"
#include "weir/event/fragment.hpp"
#include "weir/event/rob_builder.hpp"

namespace {

using namespace weir;
using namespace weir::readout;

struct Sink final : messaging::MessageSender {
    void send(wire::StationId, wire::DataflowType type, std::span<const ConstData> pieces) override {
        WEIR_ASSERT(type == wire::DataflowType::data);
        std::vector<std::byte> whole;
        for (const auto piece : pieces) whole.insert(whole.end(), piece.begin(), piece.end());
        wire::DataView view;
        WEIR_ASSERT(wire::decode(whole, view).has_value());
    }
    bool send_reliably(wire::StationId, wire::DataflowType, std::span<const ConstData>) override { return true; }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const auto data = std::as_bytes(std::span(bytes, size));
    RobStore store({.sources = {SourceId{0x10}, SourceId{0x11}, level2_result_source},
                    .events_max = 4,
                    .bytes_max = Bytes{1 << 20},
                    .lost_after = 3});
    for (const auto format : {event::Format::event_5_0, event::Format::event_3_0}) {
        FragmentIntake intake(store, {.format = format, .rules = {.sources = {{SourceId{0x11}, {.level1_offset = 1}}}}},
                              {});
        const SourceId source{size % 2 == 0 ? 0x10U : 0x11U};
        std::vector<std::byte> rob;
        if (!event::append_rob_around(rob, source, data.first(size / 4 * 4), {.format = format})) rob.clear();
        for (const auto kind : {wire::PayloadKind::raw, wire::PayloadKind::rod, wire::PayloadKind::rob}) {
            for (const auto id : {std::optional<Level1Id>{}, std::optional(Level1Id{2})}) {
                for (const auto payload : {data, ConstData(rob)})
                    static_cast<void>(intake.take(
                        {.source = source, .level1_id = id, .kind = kind, .status_words = {1}, .payload = payload},
                        {}));
            }
        }
        wire::BlockReader<wire::InputFragment> block(data);
        while (block.next() == decltype(block)::Next::record) static_cast<void>(intake.take(block.record(), {}));

        ResultInput results(store, format, RunNumber{1});
        Sink sink;
        ReadoutNode node(store, results, sink, {.results = true});
        using Type = wire::DataflowType;
        for (const auto type : {Type::level2_result, Type::data_request, Type::clear}) {
            messaging::IncomingMessage message;
            message.type = type;
            message.body = data;
            node.on_message(message, {});
        }
    }
    const auto counts = store.ledger().counts();
    WEIR_ASSERT(counts.received == counts.stored + counts.rejected_in_all() + counts.in_hand);
    WEIR_ASSERT(counts.in_hand == store.count_robs());
    return 0;
}
