// SPDX-License-Identifier: Apache-2.0
// The classes of the buffers in vectors/root-6.40, as ROOT's dictionary knew them.
#pragma once

#include <cstdint>
#include <vector>

#include "weir/serial/describe.hpp"

struct Thing {
    int a = 0;
    bool operator==(const Thing&) const = default;
};
struct ThingV {
    int a = 0;
    bool operator==(const ThingV&) const = default;
};
struct Holder {
    std::vector<Thing> things;
    bool operator==(const Holder&) const = default;
};

template <>
inline constexpr auto weir::serial::description<Thing> = weir::serial::members("a");
template <>
inline constexpr auto weir::serial::description<ThingV> = weir::serial::version(1);
template <>
inline constexpr auto weir::serial::description<Holder> = weir::serial::members("things");

template <class T>
std::vector<T> sample_things(std::size_t count) {
    std::vector<T> things(count);
    for (std::size_t i = 0; i < count; ++i)
        things[i].a = static_cast<int>(static_cast<std::uint32_t>(i) * 0x01010101u + 1u);
    return things;
}
