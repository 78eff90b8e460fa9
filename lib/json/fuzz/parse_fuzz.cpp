// SPDX-License-Identifier: Apache-2.0
// Any bytes are a document or an error of one line; any text becomes a document that can be read.
#include <boost/json/serialize.hpp>

#include "weir/base/assert.hpp"
#include "weir/json/parse.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto parsed = weir::json::parse(text); parsed) {
        weir::json::Fields fields(*parsed, "it");
        static_cast<void>(fields.text("name", ""));
        static_cast<void>(fields.number("run", 0));
        static_cast<void>(fields.array("peers", 4));
        fields.no_others();
        if (const auto result = fields.result(); !result) WEIR_ASSERT(!result.error().context.contains('\n'));
    } else {
        WEIR_ASSERT(!parsed.error().context.contains('\n'));
    }
    const auto again =
        weir::json::parse(boost::json::serialize(boost::json::value(weir::json::safe(text.substr(0, 1000)))));
    WEIR_ASSERT(again.has_value());
    return 0;
}
