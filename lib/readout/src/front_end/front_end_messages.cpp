// SPDX-License-Identifier: Apache-2.0
#include "front_end/front_end_messages.hpp"

#include "weir/base/endian.hpp"

namespace weir::readout {
namespace {

constexpr std::size_t trigger_size = 16;

}  // namespace

void write_triggers(std::span<const Trigger> triggers, std::vector<std::byte>& to) {
    auto at = plugin::begin_message(static_cast<std::uint32_t>(ToFrontEnd::triggers), to);
    const auto begin = at;
    to.resize(begin + triggers.size() * trigger_size);
    for (const auto& trigger : triggers) {
        store_little(std::span(to), at, number(trigger.level1_id));
        store_little(std::span(to), at + 4, trigger.type);
        store_little(std::span(to), at + 8, static_cast<std::uint64_t>(trigger.time.count()));
        at += trigger_size;
    }
    plugin::end_message(begin, to);
}

Result<> read_triggers(ConstData body, std::vector<Trigger>& into) {
    if (body.size() % trigger_size != 0) return fail(Errc::truncated, "the message ends early");
    into.clear();
    for (std::size_t at = 0; at < body.size(); at += trigger_size)
        into.push_back(
            {.level1_id = Level1Id{load_little<std::uint32_t>(body, at)},
             .type = load_little<std::uint32_t>(body, at + 4),
             .time = std::chrono::nanoseconds(static_cast<std::int64_t>(load_little<std::uint64_t>(body, at + 8)))});
    return {};
}

}  // namespace weir::readout
