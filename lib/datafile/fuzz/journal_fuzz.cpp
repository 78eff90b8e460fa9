// SPDX-License-Identifier: Apache-2.0
// Any bytes read as a journal end as records or as a stated end; what was read encodes again.
#include <cstdint>
#include <span>

#include "weir/base/assert.hpp"
#include "weir/datafile/journal.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    std::vector<std::byte> again;
    const auto end = weir::datafile::for_each_record(bytes, [&](const weir::datafile::JournalRecord& record) {
        weir::datafile::encode(record, again);
        return true;
    });
    WEIR_ASSERT(end.offset <= size);
    WEIR_ASSERT(end.clean == end.reason.empty());
    return 0;
}
