// SPDX-License-Identifier: Apache-2.0
// How a class says what of it is streamed. One line is enough, outside of the class:
//
//     struct Thing { int a; };
//     template <> inline constexpr auto weir::serial::description<Thing> = weir::serial::members("a");
//
// An aggregate's members are found by reflection, in their order; the names are those that ROOT knows, as they enter
// the class checksum. A class with a ClassDef says its version, members("a").version(3), and may then leave the names
// out: version(3). Bases and private members are beyond reflection; such classes list their fields, inside of the class
// when they are private:
//
//     class Track : public Line {
//         float chi2_;
//         int hits_[3];
//       public:
//         static constexpr auto describe_serial() {
//             using namespace weir::serial;
//             return fields(base<Line>(), field("chi2_", &Track::chi2_), field("hits_", &Track::hits_));
//         }
//     };
//
// Members are numbers, bool, enums (no wider than int), std::string, C arrays, std::array, std::vector, std::map and
// std::pair of all of these, described classes, std::unique_ptr of them, and std::shared_ptr where ROOT has Class*.
// Members that are not listed are not streamed (ROOT's "//!"). The class name is the compiler's, written as ROOT writes
// it; .class_name("Other") overrides it.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace weir::serial {

/// What members(), version() and fields() return: the parts of a class, its version and its name.
template <class Parts>
struct Description {
    Parts parts;
    int class_version = 0;  // 0: no ClassDef, the checksum stands for a version
    std::string_view name{};

    /// The number in the class's ClassDef.
    [[nodiscard]] consteval Description version(int number) const { return {parts, number, name}; }
    [[nodiscard]] consteval Description class_name(std::string_view text) const { return {parts, class_version, text}; }
};

struct Undescribed {};

/// All members of an aggregate, in their order; without names there is no checksum (and no C array among them).
struct Unnamed {};
template <std::size_t count>
struct Named {
    std::array<std::string_view, count> names;
};

template <class... Fields>
struct Listed {
    std::tuple<Fields...> fields;
};
template <class Base>
struct BaseField {
    static constexpr bool base_class = true;
};
template <class Class, class Member>
struct MemberField {
    std::string_view name;
    Member Class::* member;
};

template <class... Names>
[[nodiscard]] consteval auto members(const Names&... names) {
    return Description<Named<sizeof...(Names)>>{{{std::string_view(names)...}}};
}

[[nodiscard]] consteval auto version(int number) { return Description<Unnamed>{{}, number}; }

template <class... Fields>
[[nodiscard]] consteval auto fields(Fields... each) {
    return Description<Listed<Fields...>>{{{each...}}};
}

/// Bases come first, in the order of the class.
template <class Base>
[[nodiscard]] consteval auto base() {
    return BaseField<Base>{};
}

template <class Class, class Member>
[[nodiscard]] consteval auto field(std::string_view name, Member Class::* member) {
    return MemberField<Class, Member>{name, member};
}

template <class T>
consteval auto default_description() {
    if constexpr (requires { T::describe_serial(); })
        return T::describe_serial();
    else
        return Undescribed{};
}

/// Specialise it for your class.
template <class T>
inline constexpr auto description = default_description<T>();

template <class First, class Second>
inline constexpr auto description<std::pair<First, Second>> =
    fields(field("first", &std::pair<First, Second>::first), field("second", &std::pair<First, Second>::second));

/// An element of a collection that is a std::array is a class to ROOT, of the one member that libstdc++ gives it.
struct ArrayElements {};
template <class T, std::size_t count>
inline constexpr auto description<std::array<T, count>> = Description<ArrayElements>{};

template <class T>
concept Described = !std::is_same_v<std::remove_cvref_t<decltype(description<T>)>, Undescribed>;

}  // namespace weir::serial
