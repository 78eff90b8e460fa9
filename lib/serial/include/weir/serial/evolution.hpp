// SPDX-License-Identifier: Apache-2.0
// Classes change: derives the shape of an object from the version or checksum in the bytes and from the class that we
// have. A class without a version grows at its end: its checksums with fewer members are known when we compile, so
// that bytes from before are recognised with certainty. A version is only a number; the description defines its
// shape. A version that it does not name is not read, except by readers that accept the risk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "weir/serial/class_checksum.hpp"
#include "weir/serial/input.hpp"
#include "weir/serial/shape.hpp"

namespace weir::serial {

struct Found {
    enum class Is {
        ours,
        part_of_ours,  // its first `number` parts, exactly
        older,         // the parts whose since() is `number` or less, exactly
        another,       // the description knows version `number` as a class of its own
        in_order,      // as many of ours as fit into the byte count; what follows them is passed over
        unknown,
    };
    Is is = Is::ours;
    std::size_t number = 0;

    /// Whether our part `index` is in the bytes, `left` of which are left. (Not for `another`.)
    [[nodiscard]] constexpr bool has(std::size_t index, const PartFacts& part, std::size_t left) const noexcept {
        switch (is) {
            case Is::ours: return true;
            case Is::part_of_ours: return index < number;
            case Is::older: return static_cast<std::size_t>(part.since) <= number;
            case Is::in_order: return left > 0;
            default: return false;
        }
    }
};

/// ROOT's checksum of pairs that a dictionary only implies, for all types.
inline constexpr std::uint32_t implied_pair_checksum = 0x0b5fb752;
template <class T>
inline constexpr bool is_pair = false;
template <class A, class B>
inline constexpr bool is_pair<std::pair<A, B>> = true;

/// Calls `use` with the older class that T's description has for this version, if there is one.
template <Object T, class Use>
constexpr bool find_older_class([[maybe_unused]] std::uint32_t version, [[maybe_unused]] const Use& use) {
    constexpr const auto& all = description<T>.older_classes;
    constexpr auto count = std::remove_cvref_t<decltype(all)>::size;
    if constexpr (count == 0) {
        return false;
    } else {
        const auto is_it = [&](const auto& older) {
            using Old = typename std::remove_cvref_t<decltype(older)>::Class;
            static_assert(Object<Old> && Parts<Old>::version > 0 && Parts<Old>::version < Parts<T>::version,
                          "weir::serial: an older class is described with a .version() below that of the class");
            static_assert(std::is_same_v<decltype(older.convert(std::declval<Old>())), T>,
                          "weir::serial: older() takes a function that makes an object of the class: Class f(ClassV1)");
            if (version != static_cast<std::uint32_t>(Parts<Old>::version)) return false;
            use(older);
            return true;
        };
        return [&]<std::size_t... index>(std::index_sequence<index...>) {
            return (... || is_it(value_at<index>(all)));
        }(std::make_index_sequence<count>{});
    }
}

/// `checksum` counts when `version` is 0.
template <Object T>
[[nodiscard]] constexpr Found recognise(std::uint32_t version, std::uint32_t checksum, OtherVersions others) noexcept {
    using enum Found::Is;
    constexpr auto ours_is = static_cast<std::uint32_t>(Parts<T>::version);
    if (version > 0x3fff) return {unknown};
    if (version > 0) {
        if (version == ours_is) return {ours};
        if (ours_is == 0) return {unknown};  // a class without versions has none of them
        if (find_older_class<T>(version, [](const auto&) {})) return {another, version};
        if (Parts<T>::says_since && version < ours_is) return {older, version};
        return {description<T>.grows || others == OtherVersions::in_order ? in_order : unknown};
    }
    if (is_pair<T> && checksum == implied_pair_checksum) return {ours};
    if constexpr (Parts<T>::named)
        for (auto parts = Parts<T>::count + 1; parts-- > 0;)
            if (checksum == checksums_by_parts<T>[parts])
                return {parts == Parts<T>::count ? ours : parts > 0 ? part_of_ours : unknown, parts};
    return {unknown};
}

}  // namespace weir::serial
