// SPDX-License-Identifier: Apache-2.0
// Any bytes are records within them, bad records, or the end; a record that is read encodes to one that reads the same.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "weir/wire/input_block.hpp"

namespace {

using namespace weir;
using namespace weir::wire;

template <class Record>
void check(ConstData block) {
    using Reader = BlockReader<Record>;
    Reader reader(block);
    while (true) {
        const auto next = reader.next();
        if (next == Reader::Next::end || next == Reader::Next::broken) return;
        if (next == Reader::Next::bad) continue;
        std::vector<std::byte> bytes;
        encode(reader.record(), bytes);
        Reader again(bytes);
        if (bytes.size() != encoded_size(reader.record()) || again.next() != Reader::Next::record ||
            again.record() != reader.record())
            std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const auto block = std::as_bytes(std::span(data, size)).subspan(1);
    if (data[0] % 2 == 0) check<InputFragment>(block);
    else check<InputTrigger>(block);
    return 0;
}
