// SPDX-License-Identifier: Apache-2.0
// Identities of the field, as types, so that they cannot be swapped. `number(id)` gives the bare value.
#pragma once

#include <cstdint>
#include <type_traits>

namespace weir {

enum class RunNumber : std::uint32_t {};
enum class LumiBlock : std::uint32_t {};      // 16 bits used by the event format; 0 = stream without blocks
enum class Level1Id : std::uint32_t {};       // extended: reset counter in the high byte, 24-bit counter below
enum class GlobalEventId : std::uint64_t {};  // unique in a run
enum class SourceId : std::uint32_t {};       // sub-detector in bits 23-16, module in 15-0
enum class Sequence : std::uint64_t {};       // of an event in its session; starts at 1

template <class Id>
    requires std::is_enum_v<Id>
[[nodiscard]] constexpr auto number(Id id) noexcept {
    return static_cast<std::underlying_type_t<Id>>(id);
}

}  // namespace weir
