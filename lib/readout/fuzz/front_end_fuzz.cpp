// SPDX-License-Identifier: Apache-2.0
// The process of a front-end sends any bytes back: each message is one within the limits, or an error. So are the ones
// that it is given. Most of them are those of any plug-in.
#include <cstddef>
#include <cstdint>

#include "../src/front_end/front_end_messages.hpp"
#include "weir/base/assert.hpp"
#include "weir/wire/input_block.hpp"

namespace {

using namespace weir;
using namespace weir::readout;

void check_failed(ConstData bytes) {
    const auto failed = plugin::read_failed(bytes);
    if (!failed) return;
    WEIR_ASSERT(failed->text.size() == bytes.size() - 8);
    std::vector<std::byte> again;
    plugin::write_failed(*failed, again);
    const auto same = plugin::read_failed(ConstData(again).subspan(plugin::message_head));
    WEIR_ASSERT(same.has_value() && same->call == failed->call && same->trigger == failed->trigger);
    WEIR_ASSERT(failed->text.starts_with(same->text));
}

void check_fragments(ConstData bytes) {
    using Block = wire::BlockReader<wire::InputFragment>;
    Block block(bytes);
    std::size_t payloads = 0;
    while (block.next() == Block::Next::record) payloads += block.record().payload.size();
    WEIR_ASSERT(payloads <= bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    if (size >= plugin::message_head) {
        if (const auto head = plugin::read_message_head(bytes.first(plugin::message_head), front_end_limits))
            WEIR_ASSERT(head->kind <= front_end_limits.kind_max && head->size <= front_end_limits.size_max);
    }
    check_failed(bytes);
    check_fragments(bytes);
    WEIR_ASSERT(plugin::read_number<std::uint32_t>(bytes).has_value() == (size == 4));
    std::vector<Trigger> triggers;
    if (read_triggers(bytes, triggers)) WEIR_ASSERT(triggers.size() == size / 16);
    if (const auto begin = plugin::read_begin_run(bytes)) WEIR_ASSERT(begin->words.size() == size / 4 - 2);
    return 0;
}
