// SPDX-License-Identifier: Apache-2.0
// Any text read as alarms, from a file or from a station's answer, is some or an error; what was read can be written
// and read again. (Not always to the same texts: what would break a line is written as an escape.)
#include <cstdint>
#include <string_view>

#include "weir/base/assert.hpp"
#include "weir/service/alarm_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto alarms = weir::service::alarms_from({reinterpret_cast<const char*>(data), size});
    if (!alarms) return 0;
    const auto again = weir::service::alarms_from(weir::service::to_text(*alarms));
    WEIR_ASSERT(again.has_value());
    WEIR_ASSERT(again->size() == alarms->size());
    return 0;
}
