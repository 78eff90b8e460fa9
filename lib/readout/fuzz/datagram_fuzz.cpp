// SPDX-License-Identifier: Apache-2.0
// Any bytes as datagrams, under weir's own header and under one that the first bytes describe: nothing is read outside
// a datagram, every one is counted once, and memory stays within its limit.
//
//     the description, 16 bytes | size of a datagram, 1 byte | the datagram | size | ...
#include <cstdint>
#include <numeric>

#include "datagrams/fragment_assembler.hpp"
#include "weir/base/assert.hpp"

namespace {

using namespace weir;
using namespace weir::readout;

constexpr std::size_t description_size = 16;

DatagramHeader described(ConstData bytes) {
    const auto at = [&](std::size_t i) { return std::to_integer<std::uint32_t>(bytes[i]); };
    const auto field = [&](std::size_t i) { return HeaderField{.offset = at(i) & 15U, .size = at(i) >> 4 & 15U}; };
    DatagramHeader header{.own = false,
                          .size = at(0),
                          .big_endian = at(1) % 2 == 0,
                          .magic = field(2),
                          .magic_value = at(3),
                          .source = field(4),
                          .source_base = at(5),
                          .counter = field(6),
                          .counter_bits = at(7) & 63U,
                          .length = field(8),
                          .part = field(9),
                          .parts = field(10),
                          .time = field(11)};
    if (at(12) % 2 != 0) header.fixed_source = SourceId{at(13)};
    return header;
}

void take_all(const DatagramHeader& header, ConstData bytes) {
    constexpr std::uint64_t memory = 4096;
    std::uint64_t delivered = 0;
    FragmentAssembler assembler(
        {.header = header,
         .sources = {{SourceId{0x10}}, {SourceId{0x11}, 3}},
         .memory = Bytes{memory},
         .unfinished_max = 4,
         .gaps_max = 4,
         .wait = std::chrono::milliseconds(3)},
        {.whole =
             [&](const wire::InputFragment& fragment) {
                 ++delivered;
                 WEIR_ASSERT(fragment.payload.size() <= memory || fragment.payload.size() < 256);
             },
         .refused = {},
         .never_came = [](SourceId, Level1Id first,
                          Level1Id last) { WEIR_ASSERT(number(last) - number(first) <= 1U << 16); },
         .jumped = {}});
    SteadyTime now{};
    std::uint64_t sent = 0;
    while (!bytes.empty()) {
        const auto size = std::min<std::size_t>(std::to_integer<std::size_t>(bytes[0]), bytes.size() - 1);
        static_cast<void>(assembler.take(bytes.subspan(1, size), now));
        bytes = bytes.subspan(1 + size);
        ++sent;
        WEIR_ASSERT(assembler.bytes_held() <= memory);
        static_cast<void>(assembler.step(now += std::chrono::milliseconds(1)));
        if (size % 16 == 0) assembler.reach(Level1Id{static_cast<std::uint32_t>(sent * 1000)});
    }
    assembler.finish();
    const auto& counts = assembler.counts();
    const auto sum = [](const auto& of) { return std::accumulate(of.begin(), of.end(), std::uint64_t{0}); };
    WEIR_ASSERT(counts.datagrams == sent && sent == sum(counts.faults) + sum(counts.fates));
    WEIR_ASSERT(delivered == counts.fates[static_cast<std::size_t>(DatagramFate::whole)]);
    WEIR_ASSERT(assembler.bytes_held() == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const auto data = std::as_bytes(std::span(bytes, size));
    if (size < description_size) return 0;
    const auto header = described(data);
    const auto datagrams = data.subspan(description_size);
    take_all({}, datagrams);
    if (check(header)) take_all(header, datagrams);
    return 0;
}
