// SPDX-License-Identifier: Apache-2.0
// What kinds of types are streamed, and what a described class consists of: one list of parts, bases first, whether
// they were found by reflection or listed by hand. Everything else in the library asks here.
#pragma once

#include <array>
#include <boost/pfr/core.hpp>
#include <concepts>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "weir/serial/describe.hpp"

namespace weir::serial {

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_map = false;
template <class K, class V>
inline constexpr bool is_map<std::map<K, V>> = true;
template <class T>
inline constexpr bool is_pointer = false;
template <class T>
inline constexpr bool is_pointer<std::unique_ptr<T>> = !std::is_array_v<T>;  // nobody knows how many there are
template <class T>
inline constexpr bool is_pointer<std::shared_ptr<T>> = !std::is_array_v<T>;
template <class T>
inline constexpr bool is_unique = false;
template <class T>
inline constexpr bool is_unique<std::unique_ptr<T>> = true;
template <class T>
inline constexpr bool is_std_array = false;
template <class T, std::size_t count>
inline constexpr bool is_std_array<std::array<T, count>> = true;

/// Numbers that ROOT has too: not wchar_t, char8_t to char32_t or long double.
template <class T>
concept Number = std::is_arithmetic_v<T> && !std::same_as<T, bool> && sizeof(T) <= 8 && !std::same_as<T, wchar_t> &&
                 !std::same_as<T, char8_t> && !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;
template <class T>
concept Scalar = Number<T> || std::same_as<T, bool> || (std::is_enum_v<T> && sizeof(T) <= 4);
template <class T>
concept Text = std::same_as<T, std::string>;
template <class T>
concept Vector = is_vector<T>;
template <class T>
concept Map = is_map<T>;
template <class T>
concept Collection = Vector<T> || Map<T>;
template <class T>
concept Pointer = is_pointer<T>;
template <class T>
concept Array = std::is_array_v<T> || is_std_array<T>;
template <class T>
concept Object = Described<T>;

/// A type that is asked for and cannot be streamed ends in an error that says what to do.
template <class T>
inline constexpr bool streamable = Scalar<T> || Text<T> || Collection<T> || Pointer<T> || Array<T> || Object<T>;

template <class T>
consteval void require_streamable() {
    static_assert(
        streamable<T>,
        "weir::serial cannot stream this type. A class needs one line: template <> inline constexpr auto "
        "weir::serial::description<Class> = weir::serial::members(\"a\", \"b\"); see weir/serial/describe.hpp. "
        "A pointer is a std::unique_ptr, or a std::shared_ptr where ROOT has Class*. Types that ROOT does not "
        "stream (long double, wchar_t, enums wider than int) cannot be streamed at all.");
}

/// What a pointer may lead to: ROOT would ask the object for its class, we take the pointer's word.
template <class T>
consteval void require_exact_class() {
    static_assert(
        !std::is_polymorphic_v<T> || std::is_final_v<T>,
        "weir::serial: a pointer to a class with virtual functions may hold another class than it says; make the "
        "class final, or stream the object itself");
}

/// The element of an array, and of arrays of arrays the innermost; anything else is its own.
template <class T>
struct ArrayLeaf {
    using type = T;
    static constexpr std::size_t count = 1;
};
template <class T, std::size_t size>
struct ArrayLeaf<T[size]> {
    using type = typename ArrayLeaf<T>::type;
    static constexpr std::size_t count = size * ArrayLeaf<T>::count;
};
template <class T, std::size_t size>
struct ArrayLeaf<std::array<T, size>> {
    using type = typename ArrayLeaf<T>::type;
    static constexpr std::size_t count = size * ArrayLeaf<T>::count;
};
template <class T>
using Leaf = typename ArrayLeaf<T>::type;

template <class U, class Base>
[[nodiscard]] constexpr auto& part(U& object, const BaseField<Base>&) noexcept {
    static_assert(
        requires(Base& base) { static_cast<std::remove_const_t<U>&>(base); },
        "weir::serial: virtual bases cannot be streamed");
    return static_cast<std::conditional_t<std::is_const_v<U>, const Base, Base>&>(object);
}
template <class U, class Class, class Member>
[[nodiscard]] constexpr auto& part(U& object, const MemberField<Class, Member>& field) noexcept {
    return object.*field.member;
}
template <class U, class... Fields>
[[nodiscard]] constexpr auto tie_listed(U& object, const std::tuple<Fields...>& fields) noexcept {
    return std::apply([&](const auto&... field) { return std::tie(part(object, field)...); }, fields);
}

/// As many members as have names. PFR counts members by trying, which C arrays defeat; here it is told.
template <class U, std::size_t count>
[[nodiscard]] constexpr auto tie_named(U& object, const Named<count>&) noexcept {
    namespace pfr = boost::pfr::detail;
    auto members = pfr::tie_as_tuple(object, pfr::size_t_<count>{});
    return [&]<std::size_t... index>(std::index_sequence<index...>) {
        return std::tie(pfr::sequence_tuple::get<index>(members)...);
    }(std::make_index_sequence<count>{});
}
template <class T, std::size_t count>
[[nodiscard]] auto& as_c_array(std::array<T, count>& array) noexcept {
    return reinterpret_cast<T(&)[count]>(array);
}
template <class T, std::size_t count>
[[nodiscard]] auto& as_c_array(const std::array<T, count>& array) noexcept {
    return reinterpret_cast<const T(&)[count]>(array);
}

/// What a described class consists of, in the order of the wire. `of(object)` is a tuple of references.
template <Object T>
struct Parts {
    using Description = std::remove_cvref_t<decltype(description<T>.parts)>;
    static constexpr bool listed = requires(Description parts) { parts.fields; };
    static constexpr bool is_array = std::is_same_v<Description, ArrayElements>;
    static constexpr bool named = listed || is_array || requires(Description parts) { parts.names; };
    static constexpr int version = description<T>.class_version;
    static_assert(
        named || version > 0,
        "weir::serial: a class without a ClassDef version is known by its checksum, which needs the names of its "
        "members: describe it with members(\"a\", \"b\")");
    static_assert(version >= 0 && version <= 0x3fff, "weir::serial: versions of classes are 1 to 16383");

    template <class U>
    [[nodiscard]] static constexpr auto of(U& object) noexcept {
        if constexpr (listed)
            return tie_listed(object, description<T>.parts.fields);
        else if constexpr (is_array)
            return std::tie(as_c_array(object));
        else if constexpr (named)
            return tie_named(object, description<T>.parts);
        else
            return boost::pfr::structure_tie(object);
    }
    using References = decltype(Parts::template of<T>(std::declval<T&>()));

    static constexpr std::size_t count = std::tuple_size_v<References>;
    template <std::size_t index>
    using Type = std::remove_cvref_t<std::tuple_element_t<index, References>>;

    template <std::size_t index>
    [[nodiscard]] static consteval bool is_base() {
        if constexpr (listed)
            return requires { std::get<index>(description<T>.parts.fields).base_class; };
        else
            return false;
    }
    template <std::size_t index>
    [[nodiscard]] static consteval std::string_view name() {
        if constexpr (listed)
            return std::get<index>(description<T>.parts.fields).name;
        else if constexpr (is_array)
            return "_M_elems";
        else
            return description<T>.parts.names[index];
    }
};

/// `each(index)` for every part of T, index being a constant; stops at the first that answers false.
template <class T, class Each>
constexpr bool for_each_part(Each&& each) {
    return [&]<std::size_t... index>(std::index_sequence<index...>) {
        return (... && each(std::integral_constant<std::size_t, index>{}));
    }(std::make_index_sequence<Parts<T>::count>{});
}

template <class T, std::size_t index, class U>
[[nodiscard]] constexpr auto& part_of(U& object) noexcept {
    return std::get<index>(Parts<T>::of(object));
}

}  // namespace weir::serial
