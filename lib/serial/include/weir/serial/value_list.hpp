// SPDX-License-Identifier: Apache-2.0
// Values of different types in one flat list. std::tuple would do, but compiles too slowly: its types grow
// with the square of their number, and classes of a hundred members are ordinary.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace weir::serial {

template <std::size_t index, class Value>
struct ListedValue {
    Value value;
};
template <class Indices, class... Values>
struct ValueListOf;
template <std::size_t... index, class... Values>
struct ValueListOf<std::index_sequence<index...>, Values...> : ListedValue<index, Values>... {
    static constexpr std::size_t size = sizeof...(Values);
};

/// An aggregate: ValueList<A, B>{{a}, {b}}.
template <class... Values>
using ValueList = ValueListOf<std::index_sequence_for<Values...>, Values...>;

template <std::size_t index, class Value>
[[nodiscard]] constexpr const Value& value_at(const ListedValue<index, Value>& listed) noexcept {
    return listed.value;
}
template <std::size_t index, class List>
using ValueAt = std::remove_cvref_t<decltype(value_at<index>(std::declval<const List&>()))>;

}  // namespace weir::serial
