// SPDX-License-Identifier: Apache-2.0
// What a worker process sends back, and what it is given: any bytes are a decision within the limits, or an error.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "../src/workers/worker_messages.hpp"
#include "weir/base/assert.hpp"
#include "weir/selection/selector.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace weir;
    using namespace weir::selection;
    const auto bytes = std::as_bytes(std::span(data, size));
    if (size >= plugin::message_head) {
        if (const auto head = plugin::read_message_head(bytes.first(plugin::message_head), answer_limits))
            WEIR_ASSERT(head->size <= answer_limits.size_max);
    }
    if (const auto decision = read_decision(bytes)) {
        WEIR_ASSERT(check_decision(*decision).has_value());
        std::vector<std::byte> again;
        write_decision(*decision, again);
        const auto same = read_decision(ConstData(again).subspan(plugin::message_head));
        WEIR_ASSERT(same.has_value() && same->tags == decision->tags && same->level2_words == decision->level2_words);
    }
    if (const auto sources = read_request(bytes)) {
        WEIR_ASSERT(sources->size() <= FragmentRequests::sources_max);
        std::vector<std::byte> again;
        write_request(*sources, again);
        WEIR_ASSERT(std::ranges::equal(ConstData(again).subspan(plugin::message_head), bytes));
    }
    if (const auto fragments = read_fragments(bytes)) {
        for (const auto& fragment : *fragments)
            WEIR_ASSERT(fragment.bytes.empty() ||
                        (fragment.bytes.data() >= bytes.data() &&
                         fragment.bytes.data() + fragment.bytes.size() <= bytes.data() + size));
    }
    EventParts parts;
    if (const auto event = read_event(bytes, parts)) {
        for (const auto& fragment : event->fragments)
            WEIR_ASSERT(fragment.bytes.empty() ||
                        (fragment.bytes.data() >= bytes.data() &&
                         fragment.bytes.data() + fragment.bytes.size() <= bytes.data() + size));
    }
    return 0;
}
