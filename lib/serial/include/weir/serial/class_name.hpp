// SPDX-License-Identifier: Apache-2.0
// Names of types as ROOT writes them into buffers and class checksums: no std::, "vector<vector<int> >", Long64_t for
// long long. What is ours comes from the compiler's own spelling, unless the description gives a name.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "weir/serial/shape.hpp"

namespace weir::serial {

/// Text that grows at compile time. (Not every standard library's std::string can.)
struct Spelling {
    std::array<char, 1000> text{};  // a longer name does not compile
    std::size_t size = 0;

    constexpr Spelling() = default;
    constexpr Spelling(std::string_view from) { *this += from; }  // NOLINT: it is text
    constexpr Spelling& operator+=(std::string_view more) {
        for (const char c : more) text.at(size++) = c;
        return *this;
    }
    [[nodiscard]] constexpr std::string_view view() const { return {text.data(), size}; }
};

template <class T>
consteval std::string_view compiler_signature() {
    return __PRETTY_FUNCTION__;
}

/// "std::vector<Thing>", "my::Class": as g++ or clang spell it. The frame around the name is that of a known one.
template <class T>
consteval std::string_view compiler_name() {
    constexpr auto known = compiler_signature<double>();
    constexpr auto before = known.find("double");
    constexpr auto after = known.size() - before - std::string_view("double").size();
    constexpr auto signature = compiler_signature<T>();
    return signature.substr(before, signature.size() - before - after);
}

/// A template's arguments as ROOT has them: "> >", and no space after a comma.
constexpr Spelling as_root_spells(std::string_view name) {
    Spelling out;
    const auto begins_name = [&out] {
        const char last = out.size == 0 ? ' ' : out.text[out.size - 1];
        return last == '<' || last == ',' || last == ' ' || last == '(' || last == '*' || last == '&';
    };
    while (!name.empty()) {
        if (name.starts_with("std::") && begins_name()) {
            name.remove_prefix(5);
        } else if (name.starts_with("__cxx11::") && begins_name()) {
            name.remove_prefix(9);
        } else if (name.front() == ' ' && out.view().ends_with(',')) {
            name.remove_prefix(1);
        } else {
            if (name.front() == '>' && out.view().ends_with('>')) out += " ";
            out += name.substr(0, 1);
            name.remove_prefix(1);
        }
    }
    return out;
}

template <class T>
constexpr Spelling spelled();

constexpr Spelling with_arguments(std::string_view name, std::string_view first, std::string_view second = {}) {
    Spelling out(name);
    (out += "<") += first;
    if (!second.empty()) (out += ",") += second;
    return out += out.view().ends_with('>') ? " >" : ">";
}

constexpr Spelling number_text(std::size_t value) {
    const char last = static_cast<char>('0' + value % 10);
    Spelling out = value < 10 ? Spelling() : number_text(value / 10);
    return out += {&last, 1};
}

/// The name in the description of a class, or nothing.
template <class T>
consteval std::string_view own_name() {
    if constexpr (Object<T>)
        return description<T>.name;
    else
        return {};
}

/// A class template's name and arguments.
template <class T>
struct ArgumentsOf {};
template <template <class...> class Template, class First, class... Rest>
struct ArgumentsOf<Template<First, Rest...>> {
    static constexpr Spelling spelled() {
        const auto name = compiler_name<Template<First, Rest...>>();
        auto open = name.size() - 1;
        for (int depth = 1; depth > 0;) {
            --open;
            depth += name[open] == '>' ? 1 : name[open] == '<' ? -1 : 0;
        }
        auto arguments = serial::spelled<First>();
        (((arguments += ",") += serial::spelled<Rest>().view()), ...);
        return with_arguments(as_root_spells(name.substr(0, open)).view(), arguments.view());
    }
};

template <class T>
constexpr Spelling spelled() {
    if constexpr (std::is_same_v<T, long long>)
        return std::string_view("Long64_t");
    else if constexpr (std::is_same_v<T, unsigned long long>)
        return std::string_view("ULong64_t");
    else if constexpr (std::is_same_v<T, unsigned short>)
        return std::string_view("unsigned short");
    else if constexpr (std::is_same_v<T, unsigned long>)
        return std::string_view("unsigned long");
    else if constexpr (std::is_same_v<T, short>)
        return std::string_view("short");
    else if constexpr (std::is_same_v<T, long>)
        return std::string_view("long");
    else if constexpr (Text<T>)
        return std::string_view("string");
    else if constexpr (Vector<T>)
        return with_arguments("vector", spelled<typename T::value_type>().view());
    else if constexpr (Map<T>)
        return with_arguments("map", spelled<typename T::key_type>().view(), spelled<typename T::mapped_type>().view());
    else if constexpr (is_std_array<T>)
        return with_arguments("array", spelled<typename T::value_type>().view(),
                              number_text(std::tuple_size_v<T>).view());
    else if constexpr (is_unique<T>) {
        const auto target = spelled<typename T::element_type>();
        return with_arguments("unique_ptr", target.view(), with_arguments("default_delete", target.view()).view());
    } else if constexpr (Pointer<T>)
        return spelled<typename T::element_type>() += "*";

    else if constexpr (requires { ArgumentsOf<T>::spelled(); })
        return own_name<T>().empty() ? ArgumentsOf<T>::spelled() : Spelling(own_name<T>());
    else
        return own_name<T>().empty() ? as_root_spells(compiler_name<T>()) : Spelling(own_name<T>());
}

template <class T>
inline constexpr auto class_name_text = [] {
    constexpr auto name = spelled<T>();
    std::array<char, name.size + 1> text{};
    for (std::size_t i = 0; i < name.size; ++i) text[i] = name.text[i];
    return text;
}();

/// ROOT's name of a type; a zero byte follows it.
template <class T>
inline constexpr std::string_view class_name{class_name_text<T>.data(), class_name_text<T>.size() - 1};

}  // namespace weir::serial
