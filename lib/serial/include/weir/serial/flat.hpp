// SPDX-License-Identifier: Apache-2.0
// Flat types: numbers, and classes of nothing but numbers. All of their objects look the same on the wire, constants
// and bytes of the object at fixed places, so that whole vectors, or columns of them, are one call of a record kernel.
#pragma once

#include <array>
#include <atomic>
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
    if constexpr (std::is_enum_v<T>) return sizeof(T) == 4;  // others are widened one by one
    else if constexpr (Scalar<T>) return true;
    else if constexpr (Array<T>)
        return is_flat<Leaf<T>>() && fixed_wire_size<T>() <= flat_size_max - 10;  // a header may come before it
    else if constexpr (Object<T>)
        return std::is_trivially_copyable_v<T> &&
               each_part_type<T>([]<class Part, bool base>(PartType<Part, base>) { return is_flat<Part>(); }) &&
               fixed_wire_size<T>() <= flat_size_max;
    else return false;
}

template <class T>
concept Flat = is_flat<T>();

/// Where the parts of T lie. No T is made for that: the place of a member does not depend on its value.
template <Object T>
[[nodiscard, gnu::noinline]] std::array<std::size_t, Parts<T>::count> find_part_offsets() noexcept {
    alignas(T) static constinit std::byte room[sizeof(T)]{};
    std::array<std::size_t, Parts<T>::count> offsets{};
    std::size_t index = 0;
    Parts<T>::each(reinterpret_cast<T&>(room), [&](auto& part) {
        offsets[index++] = static_cast<std::size_t>(&reinterpret_cast<const std::byte&>(part) - room);
        return true;
    });
    return offsets;
}
template <Object T>
[[nodiscard]] inline const std::array<std::size_t, Parts<T>::count>& part_offsets() noexcept {
    static const auto offsets = find_part_offsets<T>();
    return offsets;
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
        if constexpr (Object<T>) add_object<T>(offset);
        else add<T>(offset);
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
        std::size_t index = 0;
        each_part_type<T>([&]<class Part, bool base>(PartType<Part, base>) {
            add<Part>(offset + part_offsets<T>()[index++]);
            return true;
        });
    }
    void constant(std::uint64_t number, std::size_t width) {
        while (width-- > 0) bytes_[at_++] = constant_byte(static_cast<std::uint8_t>(number >> 8 * width));
    }

    std::array<WireByte, size> bytes_{};
    std::size_t at_ = 0;
};

/// A member of type Part that lies at `offset` of an object, of its class or of a base.
template <class Part, class T>
[[nodiscard]] inline auto& part_at(T& object, std::size_t offset) noexcept {
    if constexpr (std::is_const_v<T>)
        return *reinterpret_cast<const Part*>(reinterpret_cast<const std::byte*>(&object) + offset);
    else return *reinterpret_cast<Part*>(reinterpret_cast<std::byte*>(&object) + offset);
}

/// The members of a class that is split into columns: those of its bases come before its own.
template <Object T>
consteval std::size_t count_columns() {
    std::size_t count = 0;
    each_part_type<T>([&]<class Part, bool base>(PartType<Part, base>) {
        if constexpr (base) count += count_columns<Part>();
        else ++count;
        return true;
    });
    return count;
}

/// `each(std::type_identity<Member>{}, offset)` for each column; stops at the first that answers false.
template <Object T, class Each>
bool each_column(const Each& each, std::size_t offset = 0) {
    const auto& offsets = part_offsets<T>();
    std::size_t index = 0;
    return each_part_type<T>([&]<class Part, bool base>(PartType<Part, base>) {
        const auto place = offset + offsets[index++];
        if constexpr (base) return each_column<Part>(each, place);
        else return each(std::type_identity<Part>{}, place);
    });
}

/// The tables themselves: made at the first call, which is kept out of the way of all others. They are never freed:
/// threads may stream to the end.
template <Object T>
[[nodiscard, gnu::noinline]] const auto& make_column_plans() {
    static const auto plans = [] {
        std::array<const RecordPlan*, count_columns<T>()> all{};
        std::size_t column = 0;
        each_column<T>([&]<class Part>(std::type_identity<Part>, std::size_t offset) {
            if constexpr (Flat<Part>) {
                constexpr auto size = fixed_wire_size<Part>();
                all[column] =
                    &(new RecordTables<size>(RecordBytes<size>().template value<Part>(offset), sizeof(T)))->plan();
            }
            ++column;
            return true;
        });
        return all;
    }();
    return plans;
}
template <Flat T>
[[nodiscard, gnu::noinline]] const RecordPlan& make_element_plan() {
    static const RecordTables<element_wire_size<T>()> tables(
        RecordBytes<element_wire_size<T>()>().template element<T>(0), sizeof(T));
    return tables;
}

/// The plans of the columns of a vector of T; null where a column is not flat.
template <Object T>
[[nodiscard]] inline const auto& column_plans() {
    static const auto& plans = make_column_plans<T>();
    return plans;
}

/// The plan of whole elements.
template <Flat T>
[[nodiscard]] inline const RecordPlan& element_plan() {
    static constinit std::atomic<const RecordPlan*> known{nullptr};  // acquire sees the tables that release showed
    if (const auto* plan = known.load(std::memory_order_acquire); plan != nullptr) [[likely]]
        return *plan;
    const auto& plan = make_element_plan<T>();
    known.store(&plan, std::memory_order_release);
    return plan;
}

}  // namespace weir::serial
