// SPDX-License-Identifier: Apache-2.0
// The checksum by which ROOT distinguishes the shapes of a class that has no ClassDef version: names of the class, of
// its bases with their checksums, and of its members with their types, folded by 3 (docs/formats/root-buffer.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "weir/serial/class_name.hpp"
#include "weir/serial/shape.hpp"

namespace weir::serial {

constexpr std::uint32_t fold_checksum(std::uint32_t sum, std::uint32_t value) noexcept { return sum * 3 + value; }
constexpr std::uint32_t fold_checksum(std::uint32_t sum, std::string_view text) noexcept {
    for (const char c : text) sum = fold_checksum(sum, static_cast<std::uint32_t>(c));
    return sum;
}

/// C arrays enter as the type of their elements and every bound; std::array is a class like any other.
template <class Member>
constexpr std::uint32_t fold_member_type(std::uint32_t sum) noexcept {
    sum = fold_checksum(sum, class_name<std::remove_all_extents_t<Member>>);
    [&]<std::size_t... dimension>(std::index_sequence<dimension...>) {
        ((sum = fold_checksum(sum, static_cast<std::uint32_t>(std::extent_v<Member, dimension>))), ...);
    }(std::make_index_sequence<std::rank_v<Member>>{});
    return sum;
}

template <Object T>
    requires(Parts<T>::named)
consteval std::uint32_t class_checksum();

/// The checksums of T when it had only its first 0, 1, 2 ... parts: how readers know the shapes that T grew out of.
template <Object T>
inline constexpr auto checksums_by_parts = [] {
    std::array<std::uint32_t, Parts<T>::count + 1> sums{fold_checksum(0, class_name<T>)};
    std::size_t index = 0;
    each_part_type<T>([&]<class Part, bool base>(PartType<Part, base>) {
        auto sum = sums[index];
        if constexpr (base) {
            sum = fold_checksum(fold_checksum(sum, class_name<Part>), class_checksum<Part>());
        } else {
            if (std::is_enum_v<std::remove_all_extents_t<Part>>) sum = fold_checksum(sum, 1);
            sum = fold_member_type<Part>(fold_checksum(sum, Parts<T>::facts[index].name));
        }
        sums[++index] = sum;
        return true;
    });
    return sums;
}();

template <Object T>
    requires(Parts<T>::named)
consteval std::uint32_t class_checksum() {
    return checksums_by_parts<T>.back();
}

}  // namespace weir::serial
