// SPDX-License-Identifier: Apache-2.0
// Random values of the classes in root_classes.hpp, the same for the same seed wherever it is compiled, and values as
// one line of text, to compare them and to show them. In plain C++17: ROOT's side uses it too.
#pragma once

#include "root_class_list.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <typeindex>

/// splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
class Draw {
public:
    explicit Draw(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }
    std::size_t below(std::size_t limit) { return static_cast<std::size_t>(next() % limit); }

private:
    std::uint64_t state_;
};

/// Makes values. What it makes pointers point at is its own, and is gone with it.
class ValueMaker {
public:
    explicit ValueMaker(std::uint64_t seed) : draw_(seed) {}

    template <class T>
    void fill(T& value) {
        if constexpr (std::is_same_v<T, bool>) value = draw_.next() % 2 != 0;
        else if constexpr (std::is_floating_point_v<T>) value = floating<T>();
        else if constexpr (std::is_integral_v<T>)
            value = static_cast<T>(draw_.below(4) == 0 ? draw_.below(3) : draw_.next());
        else value.each([this](auto&... member) { (this->fill(member), ...); });
    }
    void fill(detector::Color& value) { value = pick({detector::red, detector::green, detector::blue}); }
    void fill(detector::Quality& value) {
        value = pick({detector::Quality::bad, detector::Quality::fair, detector::Quality::good});
    }
    void fill(detector::Side& value) { value = pick({detector::Side::left, detector::Side::right}); }
    void fill(detector::Gain& value) { value = pick({detector::low, detector::high}); }
    void fill(detector::Outer::Inside& value) { value = pick({detector::Outer::x, detector::Outer::y}); }

    void fill(std::string& value) {
        const std::size_t kind = draw_.below(16);
        value.resize(kind == 0 ? 250 + draw_.below(10) : kind == 1 ? 0 : draw_.below(12));
        // No NUL: ROOT 6.40 cuts a text there when it reads it as an element of a collection.
        for (char& c : value) c = static_cast<char>(kind == 2 ? 1 + draw_.below(255) : 'a' + draw_.below(26));
    }
    template <class T, std::size_t count>
    void fill(T (&values)[count]) {
        for (T& value : values) fill(value);
    }
    template <class T, std::size_t count>
    void fill(std::array<T, count>& values) {
        for (T& value : values) fill(value);
    }
    template <class T>
    void fill(std::vector<T>& values) {
        values = std::vector<T>(size());
        if constexpr (std::is_same_v<T, bool>)
            for (std::size_t i = 0; i < values.size(); ++i) values[i] = draw_.next() % 2 != 0;
        else
            for (T& value : values) inside(value);
    }
    template <class Key, class T>
    void fill(std::map<Key, T>& values) {
        values.clear();
        for (std::size_t i = size(); i > 0; --i) {
            Key key{};
            fill(key);
            inside(values[key]);
        }
    }
    template <class First, class Second>
    void fill(std::pair<First, Second>& value) {
        fill(value.first);
        fill(value.second);
    }
    template <class T>
    void fill(std::unique_ptr<T>& value) {
        value.reset();
        if (draw_.below(3) == 0) return;
        value = std::make_unique<T>();
        inside(*value);
    }
    template <class T>
    void fill(T*& value) {
        value = some<T>().get();
    }
    template <class T>
    void fill(std::shared_ptr<T>& value) {
        value = some<T>();
    }

private:
    template <class T>
    void inside(T& value) {
        ++depth_;
        fill(value);
        --depth_;
    }
    /// Null, an object that something else points at too, or a new one.
    template <class T>
    std::shared_ptr<T> some() {
        auto& made = made_[std::type_index(typeid(T))];
        const std::size_t kind = draw_.below(3);
        if (kind == 0 || depth_ > 5) return nullptr;
        if (kind == 1 && !made.empty()) return std::static_pointer_cast<T>(made[draw_.below(made.size())]);
        auto owned = std::make_shared<T>();
        made.push_back(owned);  // before it is filled: rings are wanted
        inside(*owned);
        return owned;
    }
    std::size_t size() {  // what lies deeper is shorter, so that a value stays small
        const std::size_t kind = draw_.below(12);
        if (depth_ == 0 && kind == 0) return 20 + draw_.below(40);
        return kind < 3 ? 0 : draw_.below(depth_ < 2 ? 6 : 3);
    }
    template <class T>
    T floating() {
        if (draw_.below(2) == 0) return static_cast<T>(static_cast<int>(draw_.below(2001)) - 1000) / T(8);
        std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t> bits = 0;
        bits = static_cast<decltype(bits)>(draw_.next());
        T value;
        std::memcpy(&value, &bits, sizeof value);
        return std::isfinite(value) ? value : T(-1.5);
    }
    template <class T>
    T pick(std::initializer_list<T> values) {
        return values.begin()[draw_.below(values.size())];
    }

    Draw draw_;
    int depth_ = 0;
    std::map<std::type_index, std::vector<std::shared_ptr<void>>> made_;
};

/// A value as text. Objects behind pointers are numbered in the order of their meeting, so that two that share one
/// differ from two with equal ones.
class ValueText {
public:
    template <class T>
    static std::string of(const T& value) {
        ValueText text;
        text.append(value);
        text.out_.pop_back();
        return text.out_;
    }
    template <class T>
    void append(const T& value) {
        add(const_cast<T&>(value));  // `each` serves readers and writers; nothing is changed
        out_ += ' ';
    }
    [[nodiscard]] const std::string& text() const { return out_; }

private:
    template <class T>
    void add(T& value) {
        if constexpr (std::is_enum_v<T>) {
            out_ += std::to_string(static_cast<long long>(value));
        } else if constexpr (std::is_floating_point_v<T>) {
            char digits[40];
            std::snprintf(digits, sizeof digits, sizeof(T) == 4 ? "%.9g" : "%.17g", static_cast<double>(value));
            out_ += digits;
        } else if constexpr (std::is_arithmetic_v<T>) {
            out_ += std::to_string(value);
        } else {
            out_ += '{';
            value.each([this](auto&... member) { ((this->add(member), out_ += ' '), ...); });
            close('}');
        }
    }
    void add(std::string& value) {
        out_ += '"';
        for (const char c : value) {
            const auto byte = static_cast<unsigned char>(c);
            if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\') {
                out_ += c;
            } else {
                char code[5];
                std::snprintf(code, sizeof code, "\\x%02x", byte);
                out_ += code;
            }
        }
        out_ += '"';
    }
    template <class T, std::size_t count>
    void add(T (&values)[count]) {
        add_all(values);
    }
    template <class T, std::size_t count>
    void add(std::array<T, count>& values) {
        add_all(values);
    }
    template <class T>
    void add(std::vector<T>& values) {
        add_all(values);
    }
    template <class Key, class T>
    void add(std::map<Key, T>& values) {
        add_all(values);
    }
    template <class First, class Second>
    void add(std::pair<First, Second>& value) {
        add(const_cast<std::remove_const_t<First>&>(value.first));
        out_ += ':';
        add(value.second);
    }
    template <class T>
    void add(std::unique_ptr<T>& value) {
        if (value) add(*value);
        else out_ += "null";
    }
    template <class T>
    void add(std::shared_ptr<T>& value) {
        T* target = value.get();
        add(target);
    }
    template <class T>
    void add(T*& value) {
        if (!value) {
            out_ += "null";
            return;
        }
        const auto [place, is_new] = met_.emplace(value, met_.size() + 1);
        out_ += '@' + std::to_string(place->second);
        if (!is_new) return;
        out_ += '=';
        add(*value);
    }
    template <class Values>
    void add_all(Values& values) {
        out_ += '[';
        for (auto&& value : values) {
            if constexpr (std::is_same_v<std::decay_t<Values>, std::vector<bool>>) out_ += value ? '1' : '0';
            else add(value);
            out_ += ' ';
        }
        close(']');
    }
    void close(char end) {
        if (out_.back() == ' ') out_.pop_back();
        out_ += end;
    }

    std::string out_;
    std::map<const void*, std::size_t> met_;
};
