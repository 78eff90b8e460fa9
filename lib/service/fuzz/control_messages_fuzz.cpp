// SPDX-License-Identifier: Apache-2.0
// Any bytes on the control port are a request that reads back to the same, or are refused in one line.
#include <cstdint>

#include "weir/base/assert.hpp"
#include "weir/service/control_messages.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto request = weir::service::parse_station_request(text); request) {
        const auto again = weir::service::parse_station_request(to_json(*request));
        WEIR_ASSERT(again.has_value() && *again == *request);
    } else {
        WEIR_ASSERT(!request.error().message().contains('\n'));
    }
    if (const auto report = weir::service::parse_station_report(text); report) {
        const auto again = weir::service::parse_station_report(to_json(*report));
        WEIR_ASSERT(again.has_value() && to_json(*again) == to_json(*report));
    }
    return 0;
}
