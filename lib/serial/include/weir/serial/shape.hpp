// SPDX-License-Identifier: Apache-2.0
// The kinds of types that are streamed, and the parts of a described class: one list of parts, bases first, whether
// they were found by reflection or listed by hand. Everything else in the library asks here.
#pragma once

#include <algorithm>
#include <array>
#include <boost/pfr/core.hpp>
#include <concepts>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
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
inline constexpr bool is_pointer<std::unique_ptr<T>> = !std::is_array_v<T>;  // the number of elements is not known
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

/// A type that is asked for and cannot be streamed ends in an error with the remedy.
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

/// The targets of a pointer: ROOT would ask the object for its class, weir uses the pointer's type.
template <class T>
consteval void require_exact_class() {
    static_assert(
        !std::is_polymorphic_v<T> || std::is_final_v<T>,
        "weir::serial: a pointer to a class with virtual functions may hold another class than its type; make the "
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

/// As many members as have names. PFR counts members by trying, which C arrays defeat; here the count is given.
template <std::size_t count, class U>
[[nodiscard]] constexpr auto tie_members(U& object) noexcept {
    namespace pfr = boost::pfr::detail;
    return pfr::tie_as_tuple(object, pfr::size_t_<count>{});
}
template <class T, std::size_t count>
[[nodiscard]] auto& as_c_array(std::array<T, count>& array) noexcept {
    return reinterpret_cast<T(&)[count]>(array);
}
template <class T, std::size_t count>
[[nodiscard]] auto& as_c_array(const std::array<T, count>& array) noexcept {
    return reinterpret_cast<const T(&)[count]>(array);
}

/// The properties of a part besides its type.
struct PartFacts {
    std::string_view name{};  // of a member
    int since = 0;            // the first version that has it; 0: not stated
    bool base = false;
};

/// Members that reflection finds at most (PFR's tables end there), and parts of a class (clang folds no more).
inline constexpr std::size_t members_max = 100, parts_max = 250;

/// The number of parts that a description names.
template <class Description>
inline constexpr std::size_t named_parts = 0;
template <std::size_t count>
inline constexpr std::size_t named_parts<Named<count>> = count;
template <class... Fields>
inline constexpr std::size_t named_parts<Listed<Fields...>> = sizeof...(Fields);
template <>
inline constexpr std::size_t named_parts<ArrayElements> = 1;

template <class T, class Description>
consteval std::size_t count_parts() {
    static_assert(named_parts<Description> <= parts_max,
                  "weir::serial: a class has at most 250 parts: put members that belong together into a struct");
    if constexpr (requires(Description parts) { parts.names; }) {
        static_assert(std::is_aggregate_v<T>,
                      "weir::serial: members() is for aggregates; private members, and those of a class with "
                      "constructors or virtual functions, are listed by fields(field(\"a\", &Class::a))");
        static_assert(named_parts<Description> <= members_max,
                      "weir::serial: members() takes at most 100 members: list them by fields(field(\"a\", "
                      "&Class::a)), up to 250, or put members that belong together into a struct");
        static_assert(named_parts<Description> > 0 || std::is_empty_v<T>,
                      "weir::serial: members() without names is for a class without members; this one has some: name "
                      "all of them");
        return named_parts<Description>;
    } else if constexpr (std::is_same_v<Description, Unnamed>) {
        static_assert(
            std::is_aggregate_v<T>,
            "weir::serial: version() alone is for aggregates; list what is streamed by fields(...).version()");
        return boost::pfr::detail::fields_count<T>();
    } else {
        return named_parts<Description>;
    }
}

template <std::size_t count>
consteval bool all_differ(std::array<PartFacts, count> facts) {
    std::ranges::sort(facts, {}, &PartFacts::name);
    for (std::size_t i = 1; i < count; ++i)
        if (!facts[i].base && !facts[i - 1].base && facts[i].name == facts[i - 1].name) return false;
    return true;
}

/// The parts of a described class, in the order of the wire.
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

    static constexpr std::size_t count = count_parts<T, Description>();

    template <class U>
    [[nodiscard]] static constexpr auto tie(U& object) noexcept {
        return tie_members<count>(object);
    }
    template <std::size_t index, class U>
    [[nodiscard]] static constexpr auto& tied(const U& members) noexcept {
        return boost::pfr::detail::sequence_tuple::get<index>(members);
    }
    template <std::size_t index>
    static consteval auto type_of() {
        if constexpr (listed) return std::type_identity<typename ValueAt<index, decltype(Description::fields)>::Type>{};
        else if constexpr (is_array)
            return std::type_identity<std::remove_reference_t<decltype(as_c_array(std::declval<T&>()))>>{};
        else
            return std::type_identity<
                std::remove_cvref_t<decltype(Parts::template tied<index>(Parts::tie(std::declval<T&>())))>>{};
    }
    template <std::size_t index>
    using Type = typename decltype(Parts::template type_of<index>())::type;

    static constexpr std::array<PartFacts, count> facts = []<std::size_t... index>(std::index_sequence<index...>) {
        [[maybe_unused]] constexpr auto fact =
            []<std::size_t at>(std::integral_constant<std::size_t, at>) -> PartFacts {
            if constexpr (listed) {
                const auto& listed_field = value_at<at>(description<T>.parts.fields);
                if constexpr (std::remove_cvref_t<decltype(listed_field)>::base_class)
                    return {{}, listed_field.since_version, true};
                else return {listed_field.name, listed_field.since_version, false};
            } else if constexpr (is_array) {
                return {"_M_elems"};
            } else if constexpr (named) {
                return {description<T>.parts.names[at].name, description<T>.parts.names[at].since_version};
            } else {
                return {};
            }
        };
        return std::array<PartFacts, count>{fact(std::integral_constant<std::size_t, index>{})...};
    }(std::make_index_sequence<count>{});

    static_assert(!named ||
                      std::ranges::none_of(facts, [](const auto& each) { return !each.base && each.name.empty(); }),
                  "weir::serial: a member has an empty name");
    static_assert(!named || all_differ(facts), "weir::serial: two members have the same name");
    /// The description is complete for older versions too.
    static constexpr bool says_since = std::ranges::any_of(facts, [](const auto& each) { return each.since != 0; });
    static_assert(
        std::ranges::all_of(facts, [](const auto& each) { return each.since >= 0 && each.since <= version; }),
        "weir::serial: since() names the first version of the class that has the member: 1 to the version that the "
        "description gives by .version()");

    /// A part of an object.
    template <std::size_t index, class U>
    [[nodiscard]] static constexpr auto& at(U& object) noexcept {
        if constexpr (listed) return part(object, value_at<index>(description<T>.parts.fields));
        else if constexpr (is_array) return as_c_array(object);
        else return tied<index>(tie(object));
    }

    /// `each(part)` for every part of an object, in their order; stops at the first that answers false.
    template <class U, class Each>
    static constexpr bool each(U& object, Each&& each) {
        return [&]<std::size_t... index>(std::index_sequence<index...>) {
            if constexpr (listed || is_array || count == 0) {
                return (... && each(at<index>(object)));
            } else {
                const auto members = tie(object);
                return (... && each(tied<index>(members)));
            }
        }(std::make_index_sequence<count>{});
    }

    template <std::size_t index>
    [[nodiscard]] static consteval bool is_base() {
        return facts[index].base;
    }
    template <std::size_t index>
    [[nodiscard]] static consteval std::string_view name() {
        return facts[index].name;
    }
};

/// The type of a part, and whether it is a base.
template <class Part, bool base_class>
struct PartType {
    using Type = Part;
    static constexpr bool base = base_class;
};

/// `each(PartType<...>{})` for every part of T; stops at the first that answers false. What it is called with has as
/// many types as the parts have, not as many as there are parts: that is what large classes compile quickly by.
template <Object T, class Each>
constexpr bool each_part_type(Each&& each) {
    return [&]<std::size_t... index>(std::index_sequence<index...>) {
        return (... && each(PartType<typename Parts<T>::template Type<index>, Parts<T>::facts[index].base>{}));
    }(std::make_index_sequence<Parts<T>::count>{});
}

/// `each(index)` for every part of T, index being a constant; stops at the first that answers false.
template <class T, class Each>
constexpr bool for_each_part(Each&& each) {
    return [&]<std::size_t... index>(std::index_sequence<index...>) {
        return (... && each(std::integral_constant<std::size_t, index>{}));
    }(std::make_index_sequence<Parts<T>::count>{});
}

template <class T, std::size_t index, class U>
[[nodiscard]] constexpr auto& part_of(U& object) noexcept {
    return Parts<T>::template at<index>(object);
}

}  // namespace weir::serial
