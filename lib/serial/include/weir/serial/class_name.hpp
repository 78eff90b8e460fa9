// SPDX-License-Identifier: Apache-2.0
// Names of types as ROOT writes them into buffers and class checksums: no std::, "vector<vector<int> >", Long64_t for
// long long. What is ours comes from the compiler's own spelling, brought into ROOT's, unless the description gives a
// name. Two things the compiler's spelling does not have: which of its namespaces are inline (g++; ROOT leaves them
// out), and what ROOT has for a type that is not its own. root_name<T> does:
//
//     namespace detector { inline namespace v2 { enum class Layer : int { inner, outer }; } }
//     template <> inline constexpr std::string_view weir::serial::root_name<detector::Layer> = "detector::Layer";
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

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

/// ROOT's name of a type where the compiler's is another one. For classes, class_name() in the description is the same.
template <class T>
inline constexpr std::string_view root_name{};

/// Where the template's argument list that opens at text[open] ends: behind its '>'. Characters may be arguments.
constexpr std::size_t end_of_arguments(std::string_view text, std::size_t open) {
    for (int depth = 0;; ++open) {
        if (text.at(open) == '\'')
            for (++open; text.at(open) != '\''; ++open) open += text[open] == '\\' ? 1U : 0U;
        depth += text[open] == '<' ? 1 : text[open] == '>' ? -1 : 0;
        if (depth == 0) return open + 1;
    }
}

/// "short unsigned int", as g++ has it, or "unsigned short", as clang: ROOT's name of it. Nothing for other names.
constexpr std::string_view integer_name(std::string_view text) {
    int longs = 0;
    bool is_unsigned = false, is_short = false, other = text.empty();
    while (!text.empty()) {
        const auto word = text.substr(0, text.find(' '));
        text.remove_prefix(word.size() < text.size() ? word.size() + 1 : text.size());
        if (word == "long") ++longs;
        else if (word == "unsigned") is_unsigned = true;
        else if (word == "short") is_short = true;
        else other = other || word != "int";
    }
    if (other) return {};
    if (is_short) return is_unsigned ? "unsigned short" : "short";
    if (longs == 0) return is_unsigned ? "unsigned int" : "int";
    if (longs == 1) return is_unsigned ? "unsigned long" : "long";
    return is_unsigned ? "ULong64_t" : "Long64_t";
}

constexpr void append_root_spelling(Spelling& out, std::string_view name);

/// "<short int, 2>" as "<short,2>". `types` are known better than by their text: the arguments from the one numbered
/// `first_type` on.
constexpr void append_arguments(Spelling& out, std::string_view arguments, std::span<const Spelling> types = {},
                                std::size_t first_type = 0) {
    out += "<";
    std::size_t number = 0;
    for (std::size_t at = 1; at < arguments.size() && arguments[at] != '>'; ++number) {
        auto end = at;
        while (arguments[end] != ',' && arguments[end] != '>') {
            if (arguments[end] == '<' || arguments[end] == '\'')
                end = arguments[end] == '<' ? end_of_arguments(arguments, end) : arguments.find('\'', end + 2) + 1;
            else ++end;
        }
        auto argument = arguments.substr(at, end - at);
        while (argument.ends_with(' ')) argument.remove_suffix(1);
        if (number > 0) out += ",";
        if (number >= first_type && number - first_type < types.size()) out += types[number - first_type].view();
        else append_root_spelling(out, argument);
        at = end;
        while (arguments[at] == ',' || arguments[at] == ' ') ++at;
    }
    out += out.view().ends_with('>') ? " >" : ">";
}

/// A type or value as the compiler spells it, as ROOT does.
constexpr void append_root_spelling(Spelling& out, std::string_view name) {
    if (name.starts_with("const ")) {
        out += "const ";
        name.remove_prefix(6);
    }
    if (!name.empty() && name.front() >= '0' && name.front() <= '9') {  // 2u, 128UL: a number to ROOT
        while (name.ends_with('u') || name.ends_with('U') || name.ends_with('l') || name.ends_with('L'))
            name.remove_suffix(1);
    } else if (name.starts_with('\'')) {
        out += name;
        return;
    }
    auto core = name;
    while (core.ends_with('*') || core.ends_with('&') || core.ends_with(' ')) core.remove_suffix(1);
    if (const auto integer = integer_name(core); !integer.empty()) {
        out += integer;
        core = name.substr(core.size());
        for (const char c : core)
            if (c != ' ') out += {&c, 1};
        return;
    }
    constexpr std::string_view texts[] = {"std::__cxx11::basic_string<char>", "std::basic_string<char>"};
    for (const auto text : texts)
        if (core == text) {
            out += "string";
            name.remove_prefix(text.size());
        }
    bool begins_name = true, unique = false;
    while (!name.empty()) {
        if (begins_name && name.starts_with("std::")) {
            name.remove_prefix(5);
            if (name.starts_with("__cxx11::")) name.remove_prefix(9);
            unique = name.starts_with("unique_ptr<");
        } else if (name.front() == '<') {
            const auto end = end_of_arguments(name, 0);
            append_arguments(out, name.substr(0, end));
            if (std::exchange(unique, false)) {  // the one default argument that ROOT writes
                Spelling target;
                append_root_spelling(target, name.substr(1, end - 2));
                out.size -= out.view().ends_with(" >") ? 2U : 1U;
                ((out += ",default_delete<") += target.view()) += target.view().ends_with('>') ? " > >" : "> >";
            }
            name.remove_prefix(end);
            begins_name = false;
        } else if (name.front() == ' ' && (name.starts_with(" *") || name.starts_with(" &"))) {
            name.remove_prefix(1);
        } else {
            begins_name = name.front() == '(' || name.front() == ' ';
            out += name.substr(0, 1);
            name.remove_prefix(1);
        }
    }
}

constexpr Spelling as_root_spells(std::string_view name) {
    Spelling out;
    append_root_spelling(out, name);
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

/// The name that was given to a type, or nothing.
template <class T>
consteval std::string_view own_name() {
    if constexpr (Object<T>)
        if (!description<T>.name.empty()) return description<T>.name;
    return root_name<T>;
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

/// With values among them, which only the compiler's text has: types before the values, or behind them.
template <class T, std::size_t first_type, class... Types>
struct MixedArguments {
    static constexpr Spelling spelled() {
        const auto name = compiler_name<T>();
        auto open = name.find('<');  // those of the classes around it come before its own
        for (auto end = end_of_arguments(name, open); end < name.size(); end = end_of_arguments(name, open))
            open = name.find('<', end);
        const std::array<Spelling, sizeof...(Types)> types{serial::spelled<Types>()...};
        auto out = as_root_spells(name.substr(0, open));
        append_arguments(out, name.substr(open), types, first_type);
        return out;
    }
};
template <template <class, auto...> class Template, class First, auto... values>
    requires(sizeof...(values) > 0)
struct ArgumentsOf<Template<First, values...>> : MixedArguments<Template<First, values...>, 0, First> {};
template <template <class, class, auto...> class Template, class First, class Second, auto... values>
    requires(sizeof...(values) > 0)
struct ArgumentsOf<Template<First, Second, values...>>
    : MixedArguments<Template<First, Second, values...>, 0, First, Second> {};
template <template <auto, class...> class Template, auto value, class... Types>
struct ArgumentsOf<Template<value, Types...>> : MixedArguments<Template<value, Types...>, 1, Types...> {};

template <class T>
constexpr Spelling spelled() {
    if constexpr (std::is_same_v<T, long long>) return std::string_view("Long64_t");
    else if constexpr (std::is_same_v<T, unsigned long long>) return std::string_view("ULong64_t");
    else if constexpr (std::is_same_v<T, unsigned short>) return std::string_view("unsigned short");
    else if constexpr (std::is_same_v<T, unsigned long>) return std::string_view("unsigned long");
    else if constexpr (std::is_same_v<T, short>) return std::string_view("short");
    else if constexpr (std::is_same_v<T, long>) return std::string_view("long");
    else if constexpr (Text<T>) return std::string_view("string");
    else if constexpr (Vector<T>) return with_arguments("vector", spelled<typename T::value_type>().view());
    else if constexpr (Map<T>)
        return with_arguments("map", spelled<typename T::key_type>().view(), spelled<typename T::mapped_type>().view());
    else if constexpr (is_std_array<T>)
        return with_arguments("array", spelled<typename T::value_type>().view(),
                              number_text(std::tuple_size_v<T>).view());
    else if constexpr (is_unique<T>) {
        const auto target = spelled<typename T::element_type>();
        return with_arguments("unique_ptr", target.view(), with_arguments("default_delete", target.view()).view());
    } else if constexpr (Pointer<T>) return spelled<typename T::element_type>() += "*";

    else if constexpr (requires { ArgumentsOf<T>::spelled(); })
        return own_name<T>().empty() ? ArgumentsOf<T>::spelled() : Spelling(own_name<T>());
    else return own_name<T>().empty() ? as_root_spells(compiler_name<T>()) : Spelling(own_name<T>());
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
