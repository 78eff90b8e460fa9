// SPDX-License-Identifier: Apache-2.0
// Which members have a header of their own on the wire, and which collections are split into columns: what writing and
// reading have to agree on.
#pragma once

#include <map>
#include <type_traits>
#include <utility>

#include "weir/serial/shape.hpp"

namespace weir::serial {

/// Members with a header: strings, collections, and arrays of them, but not a std::array of collections.
template <class T>
concept Framed = Text<Leaf<T>> || Collection<std::remove_all_extents_t<T>>;

template <class T>
struct ElementOf {
    using type = typename T::value_type;
};
template <class K, class V>
struct ElementOf<std::map<K, V>> {
    using type = std::pair<K, V>;
};
/// The elements as which a collection is written: of a map, pairs.
template <Collection T>
using Element = typename ElementOf<T>::type;

/// Whether a class or its bases have members.
template <Object T>
consteval bool has_members() {
    return !each_part_type<T>([]<class Part, bool base>(PartType<Part, base>) {
        if constexpr (base) return !has_members<Part>();
        else return false;
    });
}

/// Collections that are split into columns in member-wise mode: those of classes with members.
template <class T>
inline constexpr bool in_columns = false;
template <Collection T>
    requires Object<Element<T>>
inline constexpr bool in_columns<T> = has_members<Element<T>>();

}  // namespace weir::serial
