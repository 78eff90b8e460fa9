// SPDX-License-Identifier: Apache-2.0
// Any query of a browser asks for a bounded span of a bounded number of series, and has values no longer than itself.
#include <cstdint>
#include <string_view>

#include "weir/base/assert.hpp"
#include "weir/page/history.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace std::chrono_literals;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto history = weir::page::parse_history_query(text);
    WEIR_ASSERT(history.span > 0s && history.span <= 24h);
    WEIR_ASSERT(history.names.size() <= 64);
    for (const auto& name : history.names) WEIR_ASSERT(name.size() <= size);
    for (const std::string_view key : {"run", "text", "monitor", "name"})
        WEIR_ASSERT(weir::page::query_value(text, key).size() <= size);
    return 0;
}
