// SPDX-License-Identifier: Apache-2.0
#include "weir/wire/recorder_choice.hpp"

namespace weir::wire {
namespace {

/// The finaliser of splitmix64: neighbouring values have unrelated results.
constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
    x += 0x9e37'79b9'7f4a'7c15;
    x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9;
    x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11eb;
    return x ^ (x >> 31);
}

}  // namespace

std::uint64_t preference(GlobalEventId event, std::string_view recorder) noexcept {
    std::uint64_t name = 0xcbf2'9ce4'8422'2325;  // FNV-1a
    for (const auto letter : recorder) name = (name ^ static_cast<unsigned char>(letter)) * 0x0000'0100'0000'01b3;
    return mixed(mixed(name) ^ (number(event) / recorder_run_ids));
}

}  // namespace weir::wire
