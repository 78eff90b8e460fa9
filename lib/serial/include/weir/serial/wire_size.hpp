// SPDX-License-Identifier: Apache-2.0
// How many bytes types take on the wire: exactly, where that is fixed, and at least, so that a count from outside is
// checked against the bytes that are there before anything is allocated for it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "weir/serial/shape.hpp"

namespace weir::serial {

inline constexpr std::uint32_t byte_count_flag = 0x40000000;  // marks a u32 as a byte count
inline constexpr std::uint16_t member_wise_flag = 0x4000;     // marks the version of a member-wise collection
inline constexpr std::uint16_t collection_version = 10;       // that of ROOT's TStreamerInfo
inline constexpr std::uint32_t new_class_tag = 0xffffffff;
inline constexpr std::uint32_t class_flag = 0x80000000;  // marks a reference to a class
inline constexpr std::uint32_t reference_offset = 2;     // references are offsets from 2 bytes before the buffer
inline constexpr std::size_t pointer_depth_max = 256;    // objects that own objects that own ...
/// Collections in collections' elements in ..., when writing.
inline constexpr std::size_t nesting_max = 256;
/// Byte counts inside of byte counts, when reading: what so many objects in vectors of pointers take.
inline constexpr std::size_t frames_max = 3 * pointer_depth_max + 32;
inline constexpr std::size_t buffer_size_max = 0x3ffffffe;  // bit 30 marks byte counts
inline constexpr std::size_t frame_header_size = 4 + 2;     // byte count, version

/// Byte count and version, or byte count, 0 and checksum.
template <Object T>
inline constexpr std::size_t object_header_size = Parts<T>::version > 0 ? frame_header_size : frame_header_size + 4;

template <Object T>
consteval std::size_t object_wire_size();

/// The bytes that every value takes as a member of a class, when it is always the same, or 0. Arrays have nothing
/// around them there.
template <class T>
consteval std::size_t fixed_wire_size() {
    if constexpr (std::is_enum_v<T>) {
        static_assert(
            requires { T{0}; },
            "weir::serial: an enum needs a type of its own (enum Color : int): without, a number from outside that is "
            "beyond its enumerators is no value of it");
        return 4;
    } else if constexpr (Scalar<T>) return sizeof(T);
    else if constexpr (Array<T>) return ArrayLeaf<T>::count * fixed_wire_size<Leaf<T>>();
    else if constexpr (Object<T>) return object_wire_size<T>();
    else return 0;
}

/// The same with a header: of a class, which a std::array is as an element of a collection.
template <Object T>
consteval std::size_t object_wire_size() {
    std::size_t size = object_header_size<T>;
    const bool fixed = each_part_type<T>([&]<class Part, bool base>(PartType<Part, base>) {
        constexpr auto more = fixed_wire_size<Part>();
        size += more;
        return more > 0;
    });
    return fixed ? size : 0;
}

template <class T>
consteval std::size_t element_wire_size() {
    if constexpr (Object<T>) return object_wire_size<T>();
    else return fixed_wire_size<T>();
}

/// As an element of a collection, or streamed alone. Of a class only the header is certain: what follows depends on its
/// version.
template <class T>
consteval std::size_t least_wire_size() {
    if constexpr (Text<T>) return 1;
    else if constexpr (Collection<T> || Pointer<T>) return 4;
    else if constexpr (Object<T>) return frame_header_size;
    else return fixed_wire_size<T>();
}

}  // namespace weir::serial
