// SPDX-License-Identifier: Apache-2.0
// Names and checksums against those that ROOT 6.40 gave (docs/formats/root-buffer.md).
#include <gtest/gtest.h>

#include <cstdint>

#include "things.hpp"
#include "weir/serial/class_checksum.hpp"

enum Color { color_red, color_green };
struct OneColor {
    Color c;
};
struct Array2 {
    float m[2][3];
};
struct StdArray {
    std::array<int, 3> a;
};
struct OneLongLong {
    long long a;
};
struct Empty {};
struct Base {
    int b;
};
struct Derived : Base {
    int d;
};
namespace detector {
template <class T>
struct Box {
    T value;
};
struct Outer {
    struct Inner {
        int i;
    };
};
template <class T, int rows>
struct Matrix {
    T value;
};
template <std::size_t size, class... T>
struct Tagged {
    template <bool big>
    struct Inner {};
};
template <char letter, class T>
struct Lettered {};
template <class T, class U, int rows, bool wide>
struct Table {};
template <class T, int... bounds>
struct Shaped {};
template <Color color, class T>
struct Painted {};
inline namespace v2 {
struct Wire {
    int a;
};
enum class Layer : int { inner, outer };
}  // namespace v2
struct Plane {
    Layer layer;
};
}  // namespace detector
namespace mystd {
struct Hit {
    int a;
};
}  // namespace mystd
namespace {
struct Local {
    int a;
};
}  // namespace

template <>
inline constexpr auto weir::serial::description<OneColor> = weir::serial::members("c");
template <>
inline constexpr auto weir::serial::description<Array2> = weir::serial::members("m");
template <>
inline constexpr auto weir::serial::description<StdArray> = weir::serial::members("a");
template <>
inline constexpr auto weir::serial::description<OneLongLong> = weir::serial::members("a");
template <>
inline constexpr auto weir::serial::description<Empty> = weir::serial::members();
template <>
inline constexpr auto weir::serial::description<Base> = weir::serial::members("b");
template <>
inline constexpr auto weir::serial::description<Derived> =
    weir::serial::fields(weir::serial::base<Base>(), weir::serial::field("d", &Derived::d));
template <>
inline constexpr auto weir::serial::description<mystd::Hit> = weir::serial::members("a");
template <>
inline constexpr auto weir::serial::description<detector::Wire> =
    weir::serial::members("a").class_name("detector::Wire");
template <>
inline constexpr std::string_view weir::serial::root_name<detector::Layer> = "detector::Layer";
template <>
inline constexpr auto weir::serial::description<detector::Plane> = weir::serial::members("layer");
template <>
inline constexpr auto weir::serial::description<Local> = weir::serial::members("a").class_name("Thing");

namespace {

using namespace weir::serial;

TEST(ClassName, IsWhatRootCallsTheType) {
    EXPECT_EQ(class_name<Thing>, "Thing");
    EXPECT_EQ(class_name<std::vector<Thing>>, "vector<Thing>");
    EXPECT_EQ((class_name<std::vector<std::map<std::string, std::vector<int>>>>), "vector<map<string,vector<int> > >");
    EXPECT_EQ((class_name<std::pair<std::int64_t, std::uint8_t>>), "pair<long,unsigned char>");
    EXPECT_EQ((class_name<std::array<std::array<int, 2>, 13>>), "array<array<int,2>,13>");
    EXPECT_EQ(class_name<long long>, "Long64_t");
    EXPECT_EQ(class_name<std::vector<unsigned long long>>, "vector<ULong64_t>");
    EXPECT_EQ(class_name<std::vector<unsigned short>>, "vector<unsigned short>");
    EXPECT_EQ(class_name<std::unique_ptr<Thing>>, "unique_ptr<Thing,default_delete<Thing> >");
    EXPECT_EQ(class_name<std::shared_ptr<Thing>>, "Thing*");
}

TEST(ClassName, OfTemplatesAndInnerClassesIsSpelledAlikeByEveryCompiler) {
    EXPECT_EQ((class_name<detector::Box<std::vector<std::string>>>), "detector::Box<vector<string> >");
    EXPECT_EQ((class_name<detector::Box<detector::Box<unsigned long>>>),
              "detector::Box<detector::Box<unsigned long> >");
    EXPECT_EQ(class_name<std::vector<mystd::Hit>>, "vector<mystd::Hit>");
    EXPECT_EQ((class_name<detector::Box<mystd::Hit>>), "detector::Box<mystd::Hit>");
    EXPECT_EQ(class_name<detector::Outer::Inner>, "detector::Outer::Inner");
}

TEST(ClassName, OfTemplatesThatMixTypesAndValuesIsRoots) {
    using namespace detector;
    EXPECT_EQ((class_name<Matrix<short, 2>>), "detector::Matrix<short,2>");
    EXPECT_EQ((class_name<Matrix<unsigned short, -2>>), "detector::Matrix<unsigned short,-2>");
    EXPECT_EQ((class_name<Matrix<long, 2>>), "detector::Matrix<long,2>");
    EXPECT_EQ((class_name<Matrix<unsigned long, 2>>), "detector::Matrix<unsigned long,2>");
    EXPECT_EQ((class_name<Matrix<long long, 2>>), "detector::Matrix<Long64_t,2>");
    EXPECT_EQ((class_name<Matrix<unsigned long long, 2>>), "detector::Matrix<ULong64_t,2>");
    EXPECT_EQ((class_name<Matrix<unsigned char, 2>>), "detector::Matrix<unsigned char,2>");
    EXPECT_EQ((class_name<Matrix<std::string, 2>>), "detector::Matrix<string,2>");
    EXPECT_EQ((class_name<Matrix<short*, 2>>), "detector::Matrix<short*,2>");
    EXPECT_EQ((class_name<Matrix<Matrix<short, 1>, 2>>), "detector::Matrix<detector::Matrix<short,1>,2>");
    EXPECT_EQ((class_name<Matrix<std::vector<long long>, 2>>), "detector::Matrix<vector<Long64_t>,2>");
    EXPECT_EQ((class_name<Matrix<std::map<int, std::vector<long>>, 2>>), "detector::Matrix<map<int,vector<long> >,2>");
    EXPECT_EQ((class_name<Matrix<std::unique_ptr<Thing>, 2>>),
              "detector::Matrix<unique_ptr<Thing,default_delete<Thing> >,2>");
    EXPECT_EQ((class_name<Tagged<5, short, std::array<long, 3>>>), "detector::Tagged<5,short,array<long,3> >");
    EXPECT_EQ((class_name<Tagged<5, short>::Inner<true>>), "detector::Tagged<5,short>::Inner<true>");
    EXPECT_EQ((class_name<Lettered<'<', short>>), "detector::Lettered<'<',short>");
    EXPECT_EQ((class_name<Lettered<',', short>>), "detector::Lettered<',',short>");
    EXPECT_EQ((class_name<Painted<color_green, short>>), "detector::Painted<color_green,short>");
    EXPECT_EQ((class_name<Box<Matrix<short, 2>>>), "detector::Box<detector::Matrix<short,2> >");
}

TEST(ClassName, InAnInlineNamespaceIsTheOneThatIsGiven) {
    EXPECT_EQ(class_name<detector::Wire>, "detector::Wire");
    EXPECT_EQ(class_name<std::vector<detector::Wire>>, "vector<detector::Wire>");
    EXPECT_EQ(class_name<std::vector<detector::Layer>>, "vector<detector::Layer>");
    constexpr auto plane = fold_checksum(fold_checksum(0, "detector::Plane"), 1);
    EXPECT_EQ(class_checksum<detector::Plane>(), fold_checksum(fold_checksum(plane, "layer"), "detector::Layer"));
}

TEST(ClassName, ThatIsGivenIsTheOneInTemplatesThatMixTypesAndValues) {
    using namespace detector;
    EXPECT_EQ((class_name<Matrix<Wire, 2>>), "detector::Matrix<detector::Wire,2>");
    EXPECT_EQ((class_name<Matrix<Layer, 2>>), "detector::Matrix<detector::Layer,2>");
    EXPECT_EQ((class_name<Matrix<std::vector<Wire>, 2>>), "detector::Matrix<vector<detector::Wire>,2>");
    EXPECT_EQ((class_name<Matrix<Matrix<Local, 1>, 2>>), "detector::Matrix<detector::Matrix<Thing,1>,2>");
    EXPECT_EQ((class_name<Box<Matrix<Wire, 2>>>), "detector::Box<detector::Matrix<detector::Wire,2> >");
    EXPECT_EQ((class_name<Tagged<5, Wire, short, Layer>>), "detector::Tagged<5,detector::Wire,short,detector::Layer>");
    EXPECT_EQ((class_name<Lettered<'<', Wire>>), "detector::Lettered<'<',detector::Wire>");
    EXPECT_EQ((class_name<Table<Wire, short, -3, true>>), "detector::Table<detector::Wire,short,-3,true>");
    EXPECT_EQ((class_name<Table<short, Layer, 3, false>>), "detector::Table<short,detector::Layer,3,false>");
    EXPECT_EQ((class_name<Shaped<Wire, 2, 3>>), "detector::Shaped<detector::Wire,2,3>");
    EXPECT_EQ((class_name<Tagged<5>>), "detector::Tagged<5>");
}

static_assert(!streamable<std::unique_ptr<Thing[]>> && !streamable<std::shared_ptr<int[]>>);

TEST(ClassName, CanBeGivenByTheDescription) {
    EXPECT_EQ(class_name<Local>, "Thing");
    EXPECT_EQ(class_checksum<Local>(), class_checksum<Thing>());
}

TEST(ClassChecksum, IsRoots) {
    EXPECT_EQ(class_checksum<Thing>(), 0x000da4f8u);
    EXPECT_EQ(class_checksum<Holder>(), 0x54a42154u);
    EXPECT_EQ(class_checksum<Empty>(), 0x00002719u);
    EXPECT_EQ(class_checksum<OneColor>(), 0x2575a4ccu);
    EXPECT_EQ(class_checksum<Array2>(), 0x0b83fc11u);
    EXPECT_EQ(class_checksum<StdArray>(), 0x712e98deu);
    EXPECT_EQ(class_checksum<OneLongLong>(), 0xa599ee3eu);
    EXPECT_EQ(class_checksum<Base>(), 0x0003e4f2u);
    EXPECT_EQ(class_checksum<Derived>(), 0x681b6417u);
    EXPECT_EQ((class_checksum<std::array<int, 3>>()), 0x6630de92u);
    EXPECT_EQ((class_checksum<std::pair<int, float>>()), 0x69032978u);
    EXPECT_EQ((class_checksum<std::pair<std::string, std::vector<int>>>()), 0x77942c20u);
}

}  // namespace
