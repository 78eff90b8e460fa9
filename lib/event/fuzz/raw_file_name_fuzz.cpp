// SPDX-License-Identifier: Apache-2.0
// Any text as a file name and as stream tags: what is read must be composed and read again the same.
#include "weir/base/assert.hpp"
#include "weir/event/raw_file_name.hpp"
#include "weir/event/stream_tags.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace weir;
    using namespace weir::event;
    const auto bytes = std::as_bytes(std::span(data, size));
    if (const auto parsed = parse_raw_file_name(as_text(bytes)); parsed && parsed->name.check()) {
        const auto again = parse_raw_file_name(parsed->name.file(FileState::data));
        WEIR_ASSERT(again.has_value() && again->name == parsed->name && again->rest == ".data");
    }
    if (const auto tags = decode_stream_tags(bytes)) {
        const auto words = encode_stream_tags(*tags);
        WEIR_ASSERT(words.has_value());
        const auto again = decode_stream_tags(*words);
        WEIR_ASSERT(again.has_value() && *again == *tags);
    }
    return 0;
}
