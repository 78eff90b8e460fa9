// SPDX-License-Identifier: Apache-2.0
// Any bytes read as a change are one, or an error; what was read is read again as the same.
#include <fmt/format.h>

#include <cstdint>

#include "queued/catalogue_change.hpp"
#include "weir/base/assert.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) text += fmt::format("{:02x}", data[i]);
    const auto change = weir::catalogue::decode_change(text);
    if (!change) return 0;
    const auto once = weir::catalogue::encode(*change);
    const auto again = weir::catalogue::decode_change(once);
    WEIR_ASSERT(again.has_value());
    WEIR_ASSERT(weir::catalogue::encode(*again) == once);
    return 0;
}
