// SPDX-License-Identifier: Apache-2.0
// What a process that runs a monitor sends, what it is given, and saved files: any bytes are histograms within the
// limits, or an error.
#include <cstddef>
#include <cstdint>

#include "../src/histogram_json.hpp"
#include "../src/monitor_messages.hpp"
#include "weir/base/assert.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace weir;
    using namespace weir::monitor;
    const auto bytes = std::as_bytes(std::span(data, size));
    if (const auto histogram = read_histogram(bytes)) {
        WEIR_ASSERT(fault_of(*histogram) == nullptr && histogram->contents.size() == histogram->cells());
        WEIR_ASSERT(histogram->squares.empty() || histogram->squares.size() == histogram->cells());
        std::vector<std::byte> again;
        write_histogram(*histogram, again);
        const auto same = read_histogram(ConstData(again).subspan(plugin::message_head));
        WEIR_ASSERT(same.has_value() && same->name == histogram->name && same->x == histogram->x);
    }
    if (const auto counters = read_counters(bytes)) WEIR_ASSERT(counters->size() <= HistogramLimits::histograms);
    std::vector<Fragment> fragments;
    if (const auto event = read_event(bytes, fragments)) {
        for (const auto& fragment : event->fragments)
            WEIR_ASSERT(fragment.bytes.empty() ||
                        (fragment.bytes.data() >= bytes.data() &&
                         fragment.bytes.data() + fragment.bytes.size() <= bytes.data() + size));
    }
    if (const auto saved = read_saved_histograms(as_text(bytes)))
        for (const auto& [name, histogram] : saved->histograms) WEIR_ASSERT(fault_of(histogram) == nullptr);
    return 0;
}
