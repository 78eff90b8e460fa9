// SPDX-License-Identifier: Apache-2.0
// Classes of every kind that is streamed, in plain C++17, so that the same file is compiled by weir's tests and by
// ROOT's dictionary generator: values made from a seed (root_values.hpp) are then the same on both sides. `each` hands
// all members to a visitor, bases first; weir's own descriptions of the same classes are in root_descriptions.hpp.
// WEIR_WITH_ROOT is defined where ROOT compiles it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#ifdef WEIR_WITH_ROOT
#include <Rtypes.h>
#define WEIR_CLASS_VERSION(name, number) ClassDefNV(name, number);
#else
#define WEIR_CLASS_VERSION(name, number)
#endif
#ifndef WEIR_DESCRIBE_HIDDEN  // private members can only be described inside of their class
#define WEIR_DESCRIBE_HIDDEN
#endif
/// ROOT reads what a plain pointer points at into a new object without an owner; weir's classes own it.
#ifdef WEIR_WITH_ROOT
template <class T>
using Pointer = T*;
#else
template <class T>
using Pointer = std::shared_ptr<T>;
#endif
#define WEIR_EACH(...)           \
    template <class Visitor>     \
    void each(Visitor&& visit) { \
        visit(__VA_ARGS__);      \
    }
#define WEIR_EACH_OF(base, ...)  \
    template <class Visitor>     \
    void each(Visitor&& visit) { \
        base::each(visit);       \
        visit(__VA_ARGS__);      \
    }

// The classes of the buffers in vectors/root-6.40.
struct Thing {
    int a{};
    WEIR_EACH(a)
};
struct ThingV {
    int a{};
    WEIR_CLASS_VERSION(ThingV, 1)
    WEIR_EACH(a)
};
struct Holder {
    std::vector<Thing> things{};
    WEIR_EACH(things)
};

namespace detector {

// With a type of their own: any number may then come from outside, and is a value of the enum.
enum Color : unsigned { red, green, blue = 70000 };
enum class Quality { bad = -1, fair, good };
enum class Side : unsigned char { left, right = 200 };
enum Gain : short { low = -3, high = 5 };

// --- values

struct Numbers {
    bool b{};
    char c{};
    signed char sc{};
    unsigned char uc{};
    short s{};
    unsigned short us{};
    int i{};
    unsigned ui{};
    long l{};
    unsigned long ul{};
    long long ll{};
    unsigned long long ull{};
    float f{};
    double d{};
    WEIR_EACH(b, c, sc, uc, s, us, i, ui, l, ul, ll, ull, f, d)
};
struct Typedefs {
    std::int8_t a{};
    std::uint8_t b{};
    std::int16_t c{};
    std::uint16_t d{};
    std::int32_t e{};
    std::uint32_t f{};
    std::int64_t g{};
    std::uint64_t h{};
    std::size_t i{};
    WEIR_EACH(a, b, c, d, e, f, g, h, i)
};
struct Enums {
    Color color{};
    Quality quality{};
    Side side{};
    Gain gain{};
    char after{};
    WEIR_EACH(color, quality, side, gain, after)
};
struct Arrays {
    int row[3]{};
    float matrix[2][3]{};
    char name[8]{};
    bool flags[2]{};
    long long wide[2]{};
    short cube[2][2][2]{};
    WEIR_EACH(row, matrix, name, flags, wide, cube)
};
struct StdArrays {
    std::array<int, 3> row{};
    std::array<std::array<double, 2>, 3> matrix{};
    std::array<bool, 2> flags{};
    std::array<unsigned long long, 1> wide{};
    WEIR_EACH(row, matrix, flags, wide)
};
struct EnumArrays {
    Quality qualities[2][2]{};
    WEIR_EACH(qualities)
};
struct Text {
    std::string text{};
    WEIR_EACH(text)
};
struct Empty {
    WEIR_EACH()
};
struct EmptyV {
    WEIR_CLASS_VERSION(EmptyV, 2)
    WEIR_EACH()
};

// --- classes of several members, with padding between them

struct Hit {
    int channel{};
    double time{};
    bool good{};
    float energy{};
    short flag{};
    WEIR_EACH(channel, time, good, energy, flag)
};
struct HitV {
    int channel{};
    double time{};
    bool good{};
    float energy{};
    short flag{};
    WEIR_CLASS_VERSION(HitV, 3)
    WEIR_EACH(channel, time, good, energy, flag)
};
struct Cell {  // every memory layout, no bool
    char c{};
    double d{};
    short s{};
    int i{};
    unsigned char u[3]{};
    float f{};
    WEIR_EACH(c, d, s, i, u, f)
};
struct Parts {  // classes in a class
    Cell cell{};
    Thing thing{};
    ThingV versioned{};
    WEIR_EACH(cell, thing, versioned)
};
struct Track {
    float x{};
    std::vector<Hit> hits{};
    std::string name{};
    std::vector<int> ids{};
    WEIR_EACH(x, hits, name, ids)
};
struct Station {
    Hit hit{};
    HitV versioned{};
    Track track{};
    Empty empty{};
    WEIR_EACH(hit, versioned, track, empty)
};
struct ClassArrays {
    Hit hits[2]{};
    std::array<Cell, 2> cells{};
    std::string texts[2]{};
    std::array<std::string, 2> more_texts{};
    std::pair<int, float> pairs[2]{};
    WEIR_EACH(hits, cells, texts, more_texts, pairs)
};
struct ListArrays {
    std::vector<int> numbers[2]{};
    std::vector<Hit> hits[2]{};
    std::array<std::vector<int>, 2> more_numbers{};
    std::array<std::vector<Hit>, 2> more_hits{};
    WEIR_EACH(numbers, hits, more_numbers, more_hits)
};

// --- collections

struct Lists {
    std::vector<bool> b{};
    std::vector<char> c{};
    std::vector<unsigned char> uc{};
    std::vector<short> s{};
    std::vector<unsigned short> us{};
    std::vector<int> i{};
    std::vector<unsigned> ui{};
    std::vector<long> l{};
    std::vector<long long> ll{};
    std::vector<std::uint64_t> u64{};
    std::vector<float> f{};
    std::vector<double> d{};
    std::vector<std::string> t{};
    WEIR_EACH(b, c, uc, s, us, i, ui, l, ll, u64, f, d, t)
};
struct EnumLists {
    std::vector<Color> colors{};
    std::vector<Quality> qualities{};
    WEIR_EACH(colors, qualities)
};
struct SmallEnumLists {  // ROOT 6.40 does not read these as a column
    std::vector<Side> sides{};
    std::vector<Gain> gains{};
    WEIR_EACH(sides, gains)
};
struct NestedLists {
    std::vector<std::vector<int>> i{};
    std::vector<std::vector<std::vector<double>>> d{};
    std::vector<std::vector<std::string>> t{};
    std::vector<std::vector<Hit>> hits{};
    std::vector<std::vector<Track>> tracks{};
    std::vector<std::array<int, 3>> rows{};
    std::vector<std::map<int, float>> maps{};
    WEIR_EACH(i, d, t, hits, tracks, rows, maps)
};
struct ClassLists {
    std::vector<Hit> hits{};
    std::vector<HitV> versioned{};
    std::vector<Cell> cells{};
    std::vector<Parts> parts{};
    std::vector<Numbers> numbers{};
    std::vector<Enums> enums{};
    std::vector<Empty> empty{};
    std::vector<Text> texts{};
    WEIR_EACH(hits, versioned, cells, parts, numbers, enums, empty, texts)
};
struct ArrayLists {
    std::vector<Arrays> arrays{};
    std::vector<StdArrays> std_arrays{};
    std::vector<ClassArrays> classes{};
    std::vector<ListArrays> lists{};
    WEIR_EACH(arrays, std_arrays, classes, lists)
};
struct Tracks {
    std::vector<Track> tracks{};
    std::vector<Station> stations{};
    std::vector<Lists> lists{};
    WEIR_EACH(tracks, stations, lists)
};
struct Maps {
    std::map<int, float> numbers{};
    std::map<std::string, std::vector<int>> lists{};
    std::map<int, Hit> hits{};
    std::map<std::string, std::string> texts{};
    std::map<int, std::map<int, float>> maps{};
    std::map<short, std::vector<Hit>> hit_lists{};
    std::map<std::string, Track> tracks{};
    std::map<long, bool> flags{};
    WEIR_EACH(numbers, lists, hits, texts, maps, hit_lists, tracks, flags)
};
struct Pairs {
    std::pair<int, float> number{};
    std::pair<std::string, std::vector<int>> list{};
    std::pair<int, Hit> hit{};
    std::vector<std::pair<int, float>> numbers{};
    std::vector<std::pair<std::string, std::vector<int>>> lists{};
    std::vector<std::pair<int, Hit>> hits{};
    WEIR_EACH(number, list, hit, numbers, lists, hits)
};
struct ListsOfAll {
    std::vector<Maps> maps{};
    std::vector<Pairs> pairs{};
    std::vector<NestedLists> nested{};
    std::vector<EnumLists> enums{};
    WEIR_EACH(maps, pairs, nested, enums)
};

// --- bases

struct Base {
    int b{};
    WEIR_EACH(b)
};
struct BaseV {
    short b{};
    WEIR_CLASS_VERSION(BaseV, 2)
    WEIR_EACH(b)
};
struct Second {
    double s{};
    std::string text{};
    WEIR_EACH(s, text)
};
struct Derived : Base {
    int d{};
    WEIR_EACH_OF(Base, d)
};
struct DerivedV : Base {
    int d{};
    WEIR_CLASS_VERSION(DerivedV, 4)
    WEIR_EACH_OF(Base, d)
};
struct DerivedVV : BaseV {
    int d{};
    WEIR_CLASS_VERSION(DerivedVV, 5)
    WEIR_EACH_OF(BaseV, d)
};
struct Grand : Derived {
    char g{};
    WEIR_EACH_OF(Derived, g)
};
struct OnlyBase : Hit {};
struct FromEmpty : Empty {
    int d{};
    WEIR_EACH(d)
};
struct TwoBases : BaseV, Second {
    int d{};
    template <class Visitor>
    void each(Visitor&& visit) {
        BaseV::each(visit);
        Second::each(visit);
        visit(d);
    }
};
struct BaseLists {
    std::vector<Derived> derived{};
    std::vector<DerivedV> versioned{};
    std::vector<DerivedVV> both{};
    std::vector<Grand> grand{};
    std::vector<OnlyBase> only{};
    std::vector<FromEmpty> from_empty{};
    std::vector<TwoBases> two{};
    WEIR_EACH(derived, versioned, both, grand, only, from_empty, two)
};
class Hidden {
public:
    WEIR_EACH(a_, b_)
    WEIR_DESCRIBE_HIDDEN

protected:
    int a_{};

private:
    std::vector<float> b_{};
};

// --- names

struct Outer {
    struct Inner {
        int i{};
        WEIR_EACH(i)
    };
    enum Inside : int { x, y };
    Inner in{};
    std::vector<Inner> list{};
    Inside e{};
    WEIR_EACH(in, list, e)
};
namespace inner {
struct Deep {
    unsigned long x{};
    WEIR_EACH(x)
};
}  // namespace inner
template <class T>
struct Box {
    T value{};
    WEIR_EACH(value)
};
struct Boxes {
    Box<int> i{};
    Box<std::vector<int>> list{};
    Box<long long> wide{};
    Box<inner::Deep> deep{};
    std::vector<Box<std::string>> texts{};
    WEIR_EACH(i, list, wide, deep, texts)
};

// --- pointers

struct Pointers {
    Pointer<Hit> first{};
    Pointer<Hit> second{};
    Pointer<Track> track{};
    Pointer<ThingV> thing{};
    WEIR_EACH(first, second, track, thing)
};
struct Owner {
    std::unique_ptr<Hit> hit{};
    int x{};
    std::unique_ptr<Track> track{};
    WEIR_EACH(hit, x, track)
};
struct Node {
    int v{};
    Pointer<Node> next{};
    WEIR_EACH(v, next)
};
struct PointerLists {
    std::vector<Pointer<Hit>> hits{};
    std::vector<Node> nodes{};
    std::vector<Pointers> pointers{};
    WEIR_EACH(hits, nodes, pointers)
};

}  // namespace detector
