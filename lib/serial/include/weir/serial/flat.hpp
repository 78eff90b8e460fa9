// SPDX-License-Identifier: Apache-2.0
// Flat types: numbers, and classes of nothing but numbers. All of their objects look the same on the wire, constants
// and bytes of the object at fixed places, so that whole vectors, or columns of them, are one call of a record kernel.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "weir/serial/class_checksum.hpp"
#include "weir/serial/record_plan.hpp"
#include "weir/serial/wire_size.hpp"

namespace weir::serial {

/// Larger records gain nothing from tables.
inline constexpr std::size_t flat_size_max = 1024;

template <class T>
consteval bool is_flat() {
    if constexpr (std::is_enum_v<T>)
        return sizeof(T) == 4;  // others are widened one by one
    else if constexpr (Scalar<T>)
        return true;
    else if constexpr (Array<T>)
        return is_flat<Leaf<T>>() && fixed_wire_size<T>() <= flat_size_max - 10;  // a header may come before it
    else if constexpr (Object<T>)
        return std::is_trivially_copyable_v<T> &&
               for_each_part<T>([](auto index) { return is_flat<typename Parts<T>::template Type<index>>(); }) &&
               fixed_wire_size<T>() <= flat_size_max;
    else
        return false;
}

template <class T>
concept Flat = is_flat<T>();

/// Where a part of T lies. No T is made for that: the place of a member does not depend on its value.
template <Object T, std::size_t index>
[[nodiscard]] std::size_t part_offset() noexcept {
    alignas(T) static constinit std::byte room[sizeof(T)]{};
    auto& object = reinterpret_cast<T&>(room);
    const auto* place = &reinterpret_cast<const std::byte&>(part_of<T, index>(object));
    return static_cast<std::size_t>(place - room);
}

/// The bytes of one record, one after the other.
template <std::size_t size>
class RecordBytes {
public:
    /// A value of type T that lies at `offset` of the objects.
    template <class T>
    [[nodiscard]] const std::array<WireByte, size>& value(std::size_t offset) {
        add<T>(offset);
        return bytes_;
    }
    /// The same as an element of a collection: a std::array has a header there.
    template <class T>
    [[nodiscard]] const std::array<WireByte, size>& element(std::size_t offset) {
        if constexpr (Object<T>)
            add_object<T>(offset);
        else
            add<T>(offset);
        return bytes_;
    }

private:
    template <class T>
    void add(std::size_t offset) {
        if constexpr (std::is_same_v<T, bool>) {
            bytes_[at_++] = flag_byte(offset);
        } else if constexpr (Scalar<T>) {
            constexpr bool turned = std::endian::native == std::endian::little;
            for (std::size_t i = 0; i < sizeof(T); ++i)
                bytes_[at_++] = object_byte(offset + (turned ? sizeof(T) - 1 - i : i));
        } else if constexpr (Array<T>) {
            for (std::size_t i = 0; i < ArrayLeaf<T>::count; ++i) add<Leaf<T>>(offset + i * sizeof(Leaf<T>));
        } else {
            add_object<T>(offset);
        }
    }
    template <Object T>
    void add_object(std::size_t offset) {
        constant(byte_count_flag | (object_wire_size<T>() - 4), 4);
        constant(static_cast<std::uint64_t>(Parts<T>::version), 2);
        if constexpr (Parts<T>::version == 0) constant(class_checksum<T>(), 4);
        for_each_part<T>([&](auto index) {
            add<typename Parts<T>::template Type<index>>(offset + part_offset<T, index>());
            return true;
        });
    }
    void constant(std::uint64_t number, std::size_t width) {
        while (width-- > 0) bytes_[at_++] = constant_byte(static_cast<std::uint8_t>(number >> 8 * width));
    }

    std::array<WireByte, size> bytes_{};
    std::size_t at_ = 0;
};

/// A part of a part of a class, bases above all: which part at each step.
template <class T, std::size_t... path>
struct At {
    using type = T;
    template <class U>
    [[nodiscard]] static constexpr auto& of(U& object) noexcept {
        return object;
    }
    [[nodiscard]] static std::size_t offset() noexcept { return 0; }
};
template <class T, std::size_t first, std::size_t... rest>
struct At<T, first, rest...> {
    using Next = At<typename Parts<T>::template Type<first>, rest...>;
    using type = typename Next::type;
    template <class U>
    [[nodiscard]] static constexpr auto& of(U& object) noexcept {
        return Next::of(part_of<T, first>(object));
    }
    [[nodiscard]] static std::size_t offset() noexcept { return part_offset<T, first>() + Next::offset(); }
};

/// The tables themselves: made at the first call, which is kept out of the way of all others.
template <class T, std::size_t... path>
[[nodiscard, gnu::noinline]] const RecordPlan& make_column_plan() {
    using Part = typename At<T, path...>::type;
    static const RecordTables<fixed_wire_size<Part>()> tables(
        RecordBytes<fixed_wire_size<Part>()>().template value<Part>(At<T, path...>::offset()), sizeof(T));
    return tables;
}
template <Flat T>
[[nodiscard, gnu::noinline]] const RecordPlan& make_element_plan() {
    static const RecordTables<element_wire_size<T>()> tables(
        RecordBytes<element_wire_size<T>()>().template element<T>(0), sizeof(T));
    return tables;
}

/// The plan of one column of a vector of T.
template <class T, std::size_t... path>
[[nodiscard]] inline const RecordPlan& column_plan() {
    static const RecordPlan& plan = make_column_plan<T, path...>();
    return plan;
}

/// The plan of whole elements.
template <Flat T>
[[nodiscard]] inline const RecordPlan& element_plan() {
    static const RecordPlan& plan = make_element_plan<T>();
    return plan;
}

}  // namespace weir::serial
