// SPDX-License-Identifier: Apache-2.0
// Any bytes are a datagram, a message of the dataflow, or an error; what decodes encodes to something that decodes to
// the same. The first byte picks what the rest is taken for.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "weir/wire/dataflow.hpp"

namespace {

using namespace weir;
using namespace weir::wire;

void require(bool condition) {
    if (!condition) std::abort();
}

template <class Message>
void check_round_trip(ConstData bytes) {
    Message first;
    if (const auto ok = decode(bytes, first); !ok) {
        require(!ok.error().context.empty());
        return;
    }
    std::vector<std::byte> again;
    encode(first, again);
    require(again.size() <= bytes.size());
    Message second;
    require(decode(again, second).has_value() && second == first);
}

void check_data(ConstData bytes) {
    DataView first;
    if (!decode(bytes, first)) return;
    std::vector<std::byte> again;
    encode(first.head, again);
    again.insert(again.end(), first.data.begin(), first.data.end());
    DataView second;
    require(decode(again, second).has_value() && second.head == first.head && second.data.size() == first.data.size());
}

/// The checksum is put right first: nothing would get behind it otherwise.
void check_datagram(ConstData bytes) {
    if (bytes.size() < datagram_header_size) {
        require(!decode_datagram(bytes, 0) && !datagram_size(bytes));
        return;
    }
    static_cast<void>(decode_datagram(bytes, 0));
    const auto part = bytes.subspan(datagram_header_size);
    const auto any = [&](std::size_t at) { return std::to_integer<std::uint32_t>(bytes[at]); };
    const DatagramHeader header{.type = static_cast<DataflowType>(any(5)),
                                .reliable = (any(6) & 1) != 0,
                                .from = StationId{static_cast<std::uint16_t>(any(8))},
                                .run = RunNumber{any(12)},
                                .epoch = Epoch{any(16)},
                                .to_epoch = Epoch{any(24)},
                                .message = any(32),
                                .message_size = any(40) | any(41) << 8 | any(43) << 24,
                                .offset = any(44) | any(47) << 24,
                                .part_size = static_cast<std::uint32_t>(part.size())};
    std::vector<std::byte> whole(bytes.begin(), bytes.end());
    encode_datagram_header(std::span(whole).first<datagram_header_size>(), header, std::span(&part, 1), 5);
    if (const auto back = decode_datagram(whole, 5)) {
        require(*back == header && back->offset + back->part_size <= back->message_size);
        require(datagram_size(ConstData(whole).first(datagram_header_size)).value() == whole.size());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
    switch (data[0] % 14) {
        case 0: check_round_trip<DataRequest>(bytes); break;
        case 1: check_round_trip<Clear>(bytes); break;
        case 2: check_round_trip<Assign>(bytes); break;
        case 3: check_round_trip<Built>(bytes); break;
        case 4: check_round_trip<Level2Task>(bytes); break;
        case 5: check_round_trip<Level2Decision>(bytes); break;
        case 6: check_round_trip<Level2Result>(bytes); break;
        case 7: check_round_trip<Accept>(bytes); break;
        case 8: check_round_trip<AcceptCredit>(bytes); break;
        case 9: check_data(bytes); break;
        case 10: check_round_trip<ReadoutBusy>(bytes); break;
        case 12: check_round_trip<FragmentSeen>(bytes); break;
        case 13: check_round_trip<Triggers>(bytes); break;
        default: check_datagram(bytes); break;
    }
    return 0;
}
