// SPDX-License-Identifier: Apache-2.0
// How a class describes which of its members are streamed. One line is enough, outside of the class:
//
//     struct Thing { int a; };
//     template <> inline constexpr auto weir::serial::description<Thing> = weir::serial::members("a");
//
// An aggregate's members are found by reflection, in their order; the names are those that ROOT knows, as they enter
// the class checksum. A class with a ClassDef states its version, members("a").version(3), and may then leave the names
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
// A class with a version changes by getting the next one, and the description defines how older bytes are read; bytes
// of a version that it does not name are refused:
//
//     members("a", member("b").since(2), "c").version(2)          // version 1 had a and c
//     members("a", "b").version(3).older(from_version_1)          // Class from_version_1(ClassV1 old): ClassV1 is
//                                                                 // described too, .version(1)
//     members("a", "b").version(1).grows_at_end()                 // a promise: other versions differ at the end only
//
// When one part has since(), the description is complete for all older versions: version n had the parts whose since()
// is n or less, and no others.
//
// Members are numbers, bool, enums (no wider than int), std::string, C arrays, std::array, std::vector, std::map and
// std::pair of all of these, described classes, std::unique_ptr of them, and std::shared_ptr where ROOT has Class*.
// Members that are not listed are not streamed (ROOT's "//!"). The class name is the compiler's, written as ROOT writes
// it; .class_name("Other") overrides it.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weir/serial/value_list.hpp"

namespace weir::serial {

/// An older version of a class, described as a class of its own, and the function that makes a new object of an old
/// one.
template <class T, class Old>
struct OlderClass {
    using Class = Old;
    T (*convert)(Old);
};

/// The result of members(), version() and fields(): the parts of a class, its version and its name.
template <class Parts, class... Older>
struct Description {
    Parts parts;
    int class_version = 0;  // 0: no ClassDef, the checksum stands for a version
    std::string_view name{};
    bool grows = false;  // other versions have fewer or more parts at the end, and are the same else
    ValueList<Older...> older_classes{};

    /// The number in the class's ClassDef.
    [[nodiscard]] consteval Description version(int number) const {
        auto changed = *this;
        changed.class_version = number;
        return changed;
    }
    [[nodiscard]] consteval Description class_name(std::string_view text) const {
        auto changed = *this;
        changed.name = text;
        return changed;
    }
    /// Every other version of the class is this one with fewer members at the end, or with more, for good: an older one
    /// is read as far as it goes, what follows in a newer one is passed over. Nothing in the bytes can prove that.
    [[nodiscard]] consteval Description grows_at_end() const {
        auto changed = *this;
        changed.grows = true;
        return changed;
    }
    /// Bytes of the version that Old is described with are read as an Old, and `convert` makes the object of it.
    template <class T, class Old>
    [[nodiscard]] consteval auto older(T (*convert)(Old)) const {
        return [&]<std::size_t... index>(std::index_sequence<index...>) {
            return Description<Parts, Older..., OlderClass<T, Old>>{
                parts, class_version, name, grows, {{value_at<index>(older_classes)}..., {{convert}}}};
        }(std::index_sequence_for<Older...>{});
    }
};

struct Undescribed {};

/// A member of an aggregate, by its name: members("a") is members(member("a")).
struct NamedMember {
    std::string_view name{};
    int since_version = 0;  // the first version of the class that has it; 0: not stated
    consteval NamedMember() = default;
    consteval NamedMember(std::string_view text) : name(text) {}  // NOLINT: it is one
    template <std::size_t size>
    consteval NamedMember(const char (&text)[size]) : name(text) {}  // NOLINT: it is one
    [[nodiscard]] consteval NamedMember since(int first_version) const {
        auto changed = *this;
        changed.since_version = first_version;
        return changed;
    }
};
[[nodiscard]] consteval NamedMember member(std::string_view name) { return name; }

/// All members of an aggregate, in their order; without names there is no checksum (and no C array among them).
struct Unnamed {};
template <std::size_t count>
struct Named {
    std::array<NamedMember, count> names;
};

template <class... Fields>
struct Listed {
    ValueList<Fields...> fields;
};
template <class Base>
struct BaseField {
    using Type = Base;
    static constexpr bool base_class = true;
    int since_version = 0;
    [[nodiscard]] consteval BaseField since(int first_version) const { return {first_version}; }
};
template <class Class, class Member>
struct MemberField {
    using Type = std::remove_cv_t<Member>;
    static constexpr bool base_class = false;
    std::string_view name;
    Member Class::* member;
    int since_version = 0;
    /// The first version of the class that has this member.
    [[nodiscard]] consteval MemberField since(int first_version) const { return {name, member, first_version}; }
};

template <class... Names>
[[nodiscard]] consteval auto members(const Names&... names) {
    return Description<Named<sizeof...(Names)>>{{{NamedMember(names)...}}};
}

[[nodiscard]] consteval auto version(int number) { return Description<Unnamed>{{}, number}; }

template <class... Fields>
[[nodiscard]] consteval auto fields(Fields... each) {
    return Description<Listed<Fields...>>{{{{each}...}}};
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
    if constexpr (requires { T::describe_serial(); }) return T::describe_serial();
    else return Undescribed{};
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
