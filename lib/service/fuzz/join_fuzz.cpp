// SPDX-License-Identifier: Apache-2.0
// Any bytes at the port for joins are a token or a request that reads back to the same, or are refused in one line that
// does not repeat them; what stands where a request for a certificate should be is one, or is refused in one line.
#include <cstdint>
#include <string_view>

#include "weir/base/assert.hpp"
#include "weir/service/join_token.hpp"
#include "weir/transport/certificate.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto token = weir::service::parse_join_token(text); token) {
        const auto again = weir::service::parse_join_token(token->text());
        WEIR_ASSERT(again.has_value() && *again == *token);
    } else {
        WEIR_ASSERT(!token.error().message().contains('\n'));
    }
    if (const auto request = weir::service::parse_join_request(text); request) {
        const auto again = weir::service::parse_join_request(to_json(*request));
        WEIR_ASSERT(again.has_value() && to_json(*again) == to_json(*request));
        if (const auto key = weir::transport::key_of_request(request->request); !key)
            WEIR_ASSERT(!key.error().message().contains('\n'));
    } else {
        WEIR_ASSERT(!request.error().message().contains('\n'));
    }
    if (const auto key = weir::transport::key_of_request(text); key) {
        WEIR_ASSERT(!key->bytes().empty());
    } else {
        WEIR_ASSERT(!key.error().message().contains('\n'));
    }
    return 0;
}
