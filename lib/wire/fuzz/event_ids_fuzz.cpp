// SPDX-License-Identifier: Apache-2.0
// Any text is a set of event ids or an error, within the memory that it may take; what is read has a text that reads
// back to the same set, whole and by chunks.
#include <cstdint>
#include <cstdlib>

#include "weir/base/data.hpp"
#include "weir/wire/event_id_set.hpp"

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace weir;
    using namespace weir::wire;
    constexpr std::size_t memory_max = 1 << 20;
    const auto set = parse_event_ids(as_text(std::as_bytes(std::span(data, size))), memory_max);
    if (!set) {
        require(!set.error().context.empty());
        return 0;
    }
    require(set->memory() <= memory_max);
    require(parse_event_ids(to_text(*set), 2 * memory_max).value() == *set);
    EventIdSet parts;
    for (const auto& [number, chunk] : set->chunks()) {
        const auto part = parse_event_ids(to_text(*set, number), memory_max);
        require(part.has_value() && part->chunks().size() == 1 && part->chunks().begin()->first == number);
        parts |= *part;
    }
    require(parts == *set && parts.count() == set->count());
    return 0;
}
