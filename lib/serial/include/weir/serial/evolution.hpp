// SPDX-License-Identifier: Apache-2.0
// Classes change: what the version or checksum in the bytes says about the shape of an object, seen from the class that
// we have. A class grows at its end. Its checksum with fewer members is known when we compile, so that bytes from
// before are recognised with certainty; of another version number only the order of members is taken for granted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "weir/serial/class_checksum.hpp"
#include "weir/serial/shape.hpp"

namespace weir::serial {

struct Found {
    enum class Is {
        ours,
        part_of_ours,   // its first `parts` parts, exactly
        other_version,  // as many of ours as fit into the byte count; what follows them is passed over
        unknown,
    };
    Is is = Is::ours;
    std::size_t parts = 0;
};

/// ROOT's checksum of pairs that a dictionary only implies, whatever their types.
inline constexpr std::uint32_t implied_pair_checksum = 0x0b5fb752;
template <class T>
inline constexpr bool is_pair = false;
template <class A, class B>
inline constexpr bool is_pair<std::pair<A, B>> = true;

/// `checksum` counts when `version` is 0.
template <Object T>
[[nodiscard]] constexpr Found recognise(std::uint32_t version, std::uint32_t checksum) noexcept {
    using enum Found::Is;
    constexpr Found all{ours, Parts<T>::count};
    if (version > 0x3fff) return {unknown, 0};
    if (version > 0 && Parts<T>::version == 0) return {unknown, 0};  // a class without versions has none of them
    if (version > 0)
        return version == static_cast<std::uint32_t>(Parts<T>::version) ? all : Found{other_version, all.parts};
    if (is_pair<T> && checksum == implied_pair_checksum) return all;
    Found found{unknown, 0};
    if constexpr (Parts<T>::named) {
        if (checksum == class_checksum<T>()) return all;
        for_each_part<T>([&](auto index) {
            if constexpr (index > 0)
                if (checksum == class_checksum<T, index>()) found = {part_of_ours, index};
            return true;
        });
    }
    return found;
}

}  // namespace weir::serial
