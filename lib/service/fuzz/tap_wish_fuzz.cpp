// SPDX-License-Identifier: Apache-2.0
// Any query of GET /tap is a wish within its limits, or an error of one line.
#include <cstdint>
#include <string_view>

#include "weir/base/assert.hpp"
#include "weir/service/event_tap.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace std::chrono_literals;
    const auto wish = weir::service::parse_tap_wish({reinterpret_cast<const char*>(data), size});
    if (!wish) {
        WEIR_ASSERT(wish.error().message().find('\n') == std::string::npos);
        return 0;
    }
    WEIR_ASSERT(wish->wait >= 0ms && wish->wait <= 10s);
    WEIR_ASSERT(wish->stream.size() <= size);
    return 0;
}
