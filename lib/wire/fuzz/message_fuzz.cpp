// SPDX-License-Identifier: Apache-2.0
// Any bytes are a message, an error, or a wait for more; what decodes encodes to something that decodes
// to the same. The first byte picks what the rest is taken for.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "weir/wire/frame_assembler.hpp"
#include "weir/wire/message.hpp"

namespace {

using namespace weir;
using namespace weir::wire;

void require(bool condition) {
    if (!condition) std::abort();
}

template <class Decode>
void check_round_trip(ConstData meta, Decode decode) {
    const auto first = decode(meta);
    if (!first) {
        require(!first.error().context.empty());
        return;
    }
    std::vector<std::byte> bytes;
    if constexpr (std::is_same_v<std::decay_t<decltype(*first)>, EventMeta>) {
        require(event_fits(*first).has_value());
        encode(*first, 1, bytes);
    } else {
        encode(*first, bytes);
    }
    const auto again = decode(ConstData(bytes).subspan(frame_header_size));
    require(again.has_value() && *again == *first);
}

void check_assembler(ConstData input, std::size_t piece) {
    FrameAssembler assembler;
    std::vector<std::byte> room;
    while (!input.empty()) {
        ConstData part = input.first(std::min(piece, input.size()));
        input = input.subspan(part.size());
        while (true) {
            const auto step = assembler.feed(part);
            if (step == FrameAssembler::Step::broken) return;
            if (step == FrameAssembler::Step::more) break;
            if (step != FrameAssembler::Step::payload) continue;
            if (assembler.header().payload_size > 4096) {
                assembler.skip();
            } else {
                room.resize(assembler.header().payload_size);
                assembler.keep(room);
            }
        }
        require(part.empty());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
    switch (data[0] % 10) {
        case 0: check_round_trip(bytes, decode_hello); break;
        case 1: check_round_trip(bytes, decode_welcome); break;
        case 2: check_round_trip(bytes, [](ConstData meta) { return decode_event(meta, flag_sent_elsewhere); }); break;
        case 3: check_round_trip(bytes, decode_ack); break;
        case 4: check_round_trip(bytes, decode_reject); break;
        case 5: check_round_trip(bytes, decode_bye); break;
        case 7: check_round_trip(bytes, decode_refused); break;
        case 6: {
            const auto set = parse_sequence_set(as_text(bytes), 100);
            if (set) require(parse_sequence_set(to_string(*set)).value() == *set);
            break;
        }
        default: check_assembler(bytes, std::size_t{data[0]} + 1); break;
    }
    return 0;
}
