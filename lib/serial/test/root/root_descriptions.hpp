// SPDX-License-Identifier: Apache-2.0
// The descriptions of root_classes.hpp for weir: the one line per class that a user writes too.
#pragma once

#define WEIR_DESCRIBE_HIDDEN                                                                                         \
    static constexpr auto describe_serial() {                                                                        \
        return weir::serial::fields(weir::serial::field("a_", &Hidden::a_), weir::serial::field("b_", &Hidden::b_)); \
    }

#include "weir/serial/describe.hpp"
//
#include "root_classes.hpp"

namespace weir::serial {

template <>
inline constexpr auto description<Thing> = members("a");
template <>
inline constexpr auto description<ThingV> = members("a").version(1);
template <>
inline constexpr auto description<Holder> = members("things");

// clang-format off
template <> inline constexpr auto description<detector::Numbers> =
    members("b", "c", "sc", "uc", "s", "us", "i", "ui", "l", "ul", "ll", "ull", "f", "d");
template <> inline constexpr auto description<detector::Typedefs> =
    members("a", "b", "c", "d", "e", "f", "g", "h", "i");
template <> inline constexpr auto description<detector::Enums> = members("color", "quality", "side", "gain", "after");
template <> inline constexpr auto description<detector::Arrays> =
    fields(field("row", &detector::Arrays::row), field("matrix", &detector::Arrays::matrix),
           field("name", &detector::Arrays::name), field("flags", &detector::Arrays::flags),
           field("wide", &detector::Arrays::wide), field("cube", &detector::Arrays::cube));
template <> inline constexpr auto description<detector::StdArrays> = members("row", "matrix", "flags", "wide");
template <> inline constexpr auto description<detector::EnumArrays> =
    fields(field("qualities", &detector::EnumArrays::qualities));
template <> inline constexpr auto description<detector::Text> = members("text");
template <> inline constexpr auto description<detector::Empty> = members();
template <> inline constexpr auto description<detector::EmptyV> = members().version(2);
template <> inline constexpr auto description<detector::Hit> = members("channel", "time", "good", "energy", "flag");
template <> inline constexpr auto description<detector::HitV> = version(3);
template <> inline constexpr auto description<detector::Cell> =
    fields(field("c", &detector::Cell::c), field("d", &detector::Cell::d), field("s", &detector::Cell::s),
           field("i", &detector::Cell::i), field("u", &detector::Cell::u), field("f", &detector::Cell::f));
template <> inline constexpr auto description<detector::Parts> = members("cell", "thing", "versioned");
template <> inline constexpr auto description<detector::Track> = members("x", "hits", "name", "ids");
template <> inline constexpr auto description<detector::Station> = members("hit", "versioned", "track", "empty");
template <> inline constexpr auto description<detector::ClassArrays> =
    fields(field("hits", &detector::ClassArrays::hits), field("cells", &detector::ClassArrays::cells),
           field("texts", &detector::ClassArrays::texts), field("more_texts", &detector::ClassArrays::more_texts),
           field("pairs", &detector::ClassArrays::pairs));
template <> inline constexpr auto description<detector::ListArrays> =
    fields(field("numbers", &detector::ListArrays::numbers), field("hits", &detector::ListArrays::hits),
           field("more_numbers", &detector::ListArrays::more_numbers),
           field("more_hits", &detector::ListArrays::more_hits));
template <> inline constexpr auto description<detector::Lists> =
    members("b", "c", "uc", "s", "us", "i", "ui", "l", "ll", "u64", "f", "d", "t");
template <> inline constexpr auto description<detector::EnumLists> = members("colors", "qualities");
template <> inline constexpr auto description<detector::SmallEnumLists> = members("sides", "gains");
template <> inline constexpr auto description<detector::NestedLists> =
    members("i", "d", "t", "hits", "tracks", "rows", "maps");
template <> inline constexpr auto description<detector::ClassLists> =
    members("hits", "versioned", "cells", "parts", "numbers", "enums", "empty", "texts");
template <> inline constexpr auto description<detector::ArrayLists> =
    members("arrays", "std_arrays", "classes", "lists");
template <> inline constexpr auto description<detector::Tracks> = members("tracks", "stations", "lists");
template <> inline constexpr auto description<detector::Maps> =
    members("numbers", "lists", "hits", "texts", "maps", "hit_lists", "tracks", "flags");
template <> inline constexpr auto description<detector::Pairs> =
    members("number", "list", "hit", "numbers", "lists", "hits");
template <> inline constexpr auto description<detector::ListsOfAll> = members("maps", "pairs", "nested", "enums");
template <> inline constexpr auto description<detector::Base> = members("b");
template <> inline constexpr auto description<detector::BaseV> = members("b").version(2);
template <> inline constexpr auto description<detector::Second> = members("s", "text");
template <> inline constexpr auto description<detector::Derived> =
    fields(base<detector::Base>(), field("d", &detector::Derived::d));
template <> inline constexpr auto description<detector::DerivedV> =
    fields(base<detector::Base>(), field("d", &detector::DerivedV::d)).version(4);
template <> inline constexpr auto description<detector::DerivedVV> =
    fields(base<detector::BaseV>(), field("d", &detector::DerivedVV::d)).version(5);
template <> inline constexpr auto description<detector::Grand> =
    fields(base<detector::Derived>(), field("g", &detector::Grand::g));
template <> inline constexpr auto description<detector::OnlyBase> = fields(base<detector::Hit>());
template <> inline constexpr auto description<detector::FromEmpty> =
    fields(base<detector::Empty>(), field("d", &detector::FromEmpty::d));
template <> inline constexpr auto description<detector::TwoBases> =
    fields(base<detector::BaseV>(), base<detector::Second>(), field("d", &detector::TwoBases::d));
template <> inline constexpr auto description<detector::BaseLists> =
    members("derived", "versioned", "both", "grand", "only", "from_empty", "two");
template <> inline constexpr auto description<detector::Outer::Inner> = members("i");
template <> inline constexpr auto description<detector::Outer> = members("in", "list", "e");
template <> inline constexpr auto description<detector::inner::Deep> = members("x");
template <class T> inline constexpr auto description<detector::Box<T>> = members("value");
template <> inline constexpr auto description<detector::Boxes> = members("i", "list", "wide", "deep", "texts");
template <> inline constexpr auto description<detector::Pointers> = members("first", "second", "track", "thing");
template <> inline constexpr auto description<detector::Owner> = members("hit", "x", "track");
template <> inline constexpr auto description<detector::Node> = members("v", "next");
template <> inline constexpr auto description<detector::PointerLists> = members("hits", "nodes", "pointers");
// clang-format on

}  // namespace weir::serial
