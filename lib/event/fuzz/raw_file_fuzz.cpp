// SPDX-License-Identifier: Apache-2.0
// Any bytes as a raw file: what is accepted must be inside the file, and a head that is read must be written
// again as it was (unless its fill bytes were not spaces, or it is of a version that is only read).
#include <algorithm>

#include "weir/base/assert.hpp"
#include "weir/event/raw_file_index.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace weir;
    using namespace weir::event;
    const auto bytes = std::as_bytes(std::span(data, size));
    if (const auto parsed = parse_file_head(bytes)) {
        WEIR_ASSERT(parsed->size <= size);
        if (const auto again = encode_file_head(parsed->head)) {
            const auto reread = parse_file_head(*again);
            WEIR_ASSERT(reread.has_value() && reread->head == parsed->head);
        }
    }
    if (const auto index = RawFileIndex::make(bytes)) {
        std::uint64_t at = index->head_size;
        for (const auto& block : index->blocks) {
            WEIR_ASSERT(block.offset == at + separator_size_bytes);
            at = block.offset + block.separator.size;
        }
        WEIR_ASSERT(at + index->bytes_after + (index->end ? file_end_size_bytes : 0) == size);
    }
    return 0;
}
