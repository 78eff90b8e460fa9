// SPDX-License-Identifier: Apache-2.0
// All that is streamed at the top, in one list for weir and for ROOT: what oracle.py makes ROOT's dictionary of.
#pragma once

#include "root_classes.hpp"

template <class T>
struct OfType {
    using type = T;
};

/// Every type with ROOT's name for it.
template <class Visitor>
void for_each_class(Visitor&& visit) {
    using namespace detector;
    visit(OfType<Thing>{}, "Thing");
    visit(OfType<ThingV>{}, "ThingV");
    visit(OfType<Holder>{}, "Holder");
    visit(OfType<Numbers>{}, "detector::Numbers");
    visit(OfType<Typedefs>{}, "detector::Typedefs");
    visit(OfType<Enums>{}, "detector::Enums");
    visit(OfType<Arrays>{}, "detector::Arrays");
    visit(OfType<StdArrays>{}, "detector::StdArrays");
    visit(OfType<EnumArrays>{}, "detector::EnumArrays");
    visit(OfType<Text>{}, "detector::Text");
    visit(OfType<Empty>{}, "detector::Empty");
    visit(OfType<EmptyV>{}, "detector::EmptyV");
    visit(OfType<Hit>{}, "detector::Hit");
    visit(OfType<HitV>{}, "detector::HitV");
    visit(OfType<Cell>{}, "detector::Cell");
    visit(OfType<Parts>{}, "detector::Parts");
    visit(OfType<Track>{}, "detector::Track");
    visit(OfType<Station>{}, "detector::Station");
    visit(OfType<ClassArrays>{}, "detector::ClassArrays");
    visit(OfType<ListArrays>{}, "detector::ListArrays");
    visit(OfType<Lists>{}, "detector::Lists");
    visit(OfType<EnumLists>{}, "detector::EnumLists");
    visit(OfType<SmallEnumLists>{}, "detector::SmallEnumLists");
    visit(OfType<NestedLists>{}, "detector::NestedLists");
    visit(OfType<ClassLists>{}, "detector::ClassLists");
    visit(OfType<ArrayLists>{}, "detector::ArrayLists");
    visit(OfType<Tracks>{}, "detector::Tracks");
    visit(OfType<Maps>{}, "detector::Maps");
    visit(OfType<Pairs>{}, "detector::Pairs");
    visit(OfType<ListsOfAll>{}, "detector::ListsOfAll");
    visit(OfType<Derived>{}, "detector::Derived");
    visit(OfType<DerivedV>{}, "detector::DerivedV");
    visit(OfType<DerivedVV>{}, "detector::DerivedVV");
    visit(OfType<Grand>{}, "detector::Grand");
    visit(OfType<OnlyBase>{}, "detector::OnlyBase");
    visit(OfType<FromEmpty>{}, "detector::FromEmpty");
    visit(OfType<TwoBases>{}, "detector::TwoBases");
    visit(OfType<BaseLists>{}, "detector::BaseLists");
    visit(OfType<Hidden>{}, "detector::Hidden");
    visit(OfType<Outer>{}, "detector::Outer");
    visit(OfType<Boxes>{}, "detector::Boxes");
    visit(OfType<Box<unsigned long long>>{}, "detector::Box<ULong64_t>");
    visit(OfType<Pointers>{}, "detector::Pointers");
    visit(OfType<Owner>{}, "detector::Owner");
    visit(OfType<Node>{}, "detector::Node");
    visit(OfType<PointerLists>{}, "detector::PointerLists");
    visit(OfType<std::string>{}, "string");
    visit(OfType<std::vector<int>>{}, "vector<int>");
    visit(OfType<std::vector<bool>>{}, "vector<bool>");
    visit(OfType<std::vector<double>>{}, "vector<double>");
    visit(OfType<std::vector<std::string>>{}, "vector<string>");
    visit(OfType<std::vector<Color>>{}, "vector<detector::Color>");
    visit(OfType<std::vector<std::vector<int>>>{}, "vector<vector<int> >");
    visit(OfType<std::vector<Thing>>{}, "vector<Thing>");
    visit(OfType<std::vector<ThingV>>{}, "vector<ThingV>");
    visit(OfType<std::vector<Hit>>{}, "vector<detector::Hit>");
    visit(OfType<std::vector<HitV>>{}, "vector<detector::HitV>");
    visit(OfType<std::vector<Cell>>{}, "vector<detector::Cell>");
    visit(OfType<std::vector<Track>>{}, "vector<detector::Track>");
    visit(OfType<std::vector<TwoBases>>{}, "vector<detector::TwoBases>");
    visit(OfType<std::vector<std::vector<Hit>>>{}, "vector<vector<detector::Hit> >");
    visit(OfType<std::vector<Pointer<Hit>>>{}, "vector<detector::Hit*>");
    visit(OfType<std::vector<std::pair<int, float>>>{}, "vector<pair<int,float> >");
    visit(OfType<std::map<int, float>>{}, "map<int,float>");
    visit(OfType<std::map<int, Hit>>{}, "map<int,detector::Hit>");
    visit(OfType<std::map<std::string, std::vector<int>>>{}, "map<string,vector<int> >");
    visit(OfType<std::pair<int, float>>{}, "pair<int,float>");
    visit(OfType<std::pair<int, Track>>{}, "pair<int,detector::Track>");
}
