// SPDX-License-Identifier: Apache-2.0
// Values to bytes, by their types. Each function takes the place to write at and returns the place behind what it
// wrote, or null when there was no room. A type is written in up to three ways: as a value (streamed alone, or an
// element of a collection), as a member of a class, where strings and collections have a header, and as the column of a
// member-wise collection, where one header is for the members of all elements.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "weir/serial/class_checksum.hpp"
#include "weir/serial/flat.hpp"
#include "weir/serial/framing.hpp"
#include "weir/serial/output.hpp"
#include "weir/serial/version_use.hpp"

namespace weir::serial {

/// A number to a place with room for it.
template <Scalar T>
inline std::byte* store_scalar(std::byte* at, T value) noexcept {
    if constexpr (std::is_enum_v<T>) return store(at, static_cast<std::uint32_t>(static_cast<std::int32_t>(value)));
    else if constexpr (sizeof(T) == 1) return store(at, static_cast<std::uint8_t>(value));
    else if constexpr (sizeof(T) == 2) return store(at, std::bit_cast<std::uint16_t>(value));
    else if constexpr (sizeof(T) == 4) return store(at, std::bit_cast<std::uint32_t>(value));
    else return store(at, std::bit_cast<std::uint64_t>(value));
}

template <class Use>
class Encoder {
public:
    explicit Encoder(Output& out) noexcept : out_(out) {}

    /// Alone, or as an element of a collection: only classes have a header.
    template <class T>
    std::byte* value(std::byte* at, const T& value) {
        require_streamable<T>();
        if constexpr (Scalar<T>) {
            at = out_.room(at, fixed_wire_size<T>());
            return at == nullptr ? nullptr : store_scalar(at, value);
        } else if constexpr (Text<T>) {
            return text(at, value);
        } else if constexpr (Pointer<T>) {
            static_assert(Object<typename T::element_type>, "weir::serial: pointers lead to described classes only");
            return pointer(at, value.get());
        } else if constexpr (Object<T>) {
            return object(at, value);
        } else {
            return elements(at, value);
        }
    }

    /// A pointer in the form of WriteObjectAny: null, a reference to an object that was written before, or class and
    /// object.
    template <class T>
    std::byte* pointer(std::byte* at, const T* target) {
        require_exact_class<T>();
        const auto seen = target == nullptr ? 0 : out_.written.find(target, class_name<T>);
        const bool whole = target != nullptr && seen == 0;
        at = out_.room(at, whole ? 4 + 4 + class_name<T>.size() + 1 : 4);
        if (at == nullptr) return nullptr;
        if (!whole) return store(at, seen);
        if (out_.depth == pointer_depth_max) return out_.fail_depth();
        const auto start = out_.offset(at);
        at = name_class<T>(at + 4);
        out_.remember(target, class_name<T>, out_.begin() + start);
        ++out_.depth;
        at = value(at, *target);
        --out_.depth;
        return close(start, at);
    }

private:
    std::byte* close(std::size_t start, std::byte* at) noexcept {
        out_.close_frame(start, at);
        return at;
    }

    template <class T>
    std::byte* name_class(std::byte* at) {
        if (const auto seen = out_.written.find(nullptr, class_name<T>)) return store(at, seen | class_flag);
        out_.remember(nullptr, class_name<T>, at);
        at = store(at, new_class_tag);
        std::memcpy(at, class_name<T>.data(), class_name<T>.size() + 1);
        return at + class_name<T>.size() + 1;
    }

    /// The version of a class on the wire: the number in its ClassDef, or 0 and the checksum.
    template <Object T>
    static std::byte* version_of(std::byte* at) noexcept {
        at = store(at, Use::template used<T>());
        if constexpr (Parts<T>::version == 0) at = store(at, class_checksum<T>());
        return at;
    }

    template <Object T>
    std::byte* object(std::byte* at, const T& object) {
        constexpr auto fixed = object_wire_size<T>();
        at = out_.room(at, fixed > 0 ? fixed : object_header_size<T>);
        if (at == nullptr) return nullptr;
        if constexpr (fixed > 0) return store_object(at, object);
        const auto start = out_.offset(at);
        at = version_of<T>(at + 4);
        Parts<T>::each(object, [&](const auto& part) {
            at = member(at, part);
            return true;
        });
        return close(start, at);
    }

    /// A value of fixed size, to a place with room for it.
    template <class T>
    static std::byte* store_fixed(std::byte* at, const T& value) noexcept {
        if constexpr (Scalar<T>) {
            return store_scalar(at, value);
        } else if constexpr (Array<T> && Flat<Leaf<T>> && ArrayLeaf<T>::count >= 16) {
            write_records(element_plan<Leaf<T>>(), reinterpret_cast<const std::byte*>(&value), ArrayLeaf<T>::count, at);
            return at + fixed_wire_size<T>();
        } else if constexpr (Array<T>) {
            return each_leaf(at, value, [](std::byte* place, const auto& leaf) { return store_fixed(place, leaf); });
        } else {
            return store_object(at, value);
        }
    }
    template <Object T>
    static std::byte* store_object(std::byte* at, const T& object) noexcept {
        at = store(at, byte_count_flag | static_cast<std::uint32_t>(object_wire_size<T>() - 4));
        at = version_of<T>(at);
        Parts<T>::each(object, [&](const auto& part) {
            at = store_fixed(at, part);
            return true;
        });
        return at;
    }
    template <class T>
    static std::byte* store_element(std::byte* at, const T& value) noexcept {
        if constexpr (Object<T>) return store_object(at, value);
        else return store_fixed(at, value);
    }

    template <class T, class Put>
    static std::byte* each_leaf(std::byte* at, const T& value, const Put& put) {
        if constexpr (Array<T>) {
            for (const auto& element : value) at = each_leaf(at, element, put);
            return at;
        } else {
            return put(at, value);
        }
    }

    template <class T>
    std::byte* member(std::byte* at, const T& value) {
        if constexpr (Framed<T>) {
            using C = Leaf<T>;
            const bool columns = in_columns<C> && out_.member_wise();
            std::size_t start = 0;
            at = open_frame<C>(at, columns, start);
            at = each_leaf(at, value, [&](std::byte* place, const C& leaf) { return contents(place, leaf, columns); });
            return close(start, at);
        } else {
            return bare_member(at, value);
        }
    }

    /// A member that has no header but its own.
    template <class T>
    std::byte* bare_member(std::byte* at, const T& value) {
        if constexpr (Array<T> && fixed_wire_size<T>() > 0) {
            at = out_.room(at, fixed_wire_size<T>());
            return at == nullptr ? nullptr : store_fixed(at, value);
        } else {
            return each_leaf(at, value, [&](std::byte* place, const auto& leaf) { return this->value(place, leaf); });
        }
    }

    /// The header of members whose contents are of type C.
    template <class C>
    std::byte* open_frame(std::byte* at, bool columns, std::size_t& start) {
        at = out_.room(at, frame_header_size + frame_header_size);
        if (at == nullptr) return nullptr;
        start = out_.offset(at);
        at = store(at + 4,
                   static_cast<std::uint16_t>(columns ? collection_version | member_wise_flag : collection_version));
        if constexpr (in_columns<C>)
            if (columns) at = version_of<Element<C>>(at);
        return at;
    }

    template <class C>
    std::byte* contents(std::byte* at, const C& value, bool columns) {
        if constexpr (in_columns<C>)
            if (columns) return this->columns(at, value);
        return this->value(at, value);
    }

    std::byte* text(std::byte* at, std::string_view text) {
        at = out_.template room_for<1>(at, text.size(), 5);
        if (at == nullptr) return nullptr;
        if (text.size() < 255) {
            at = store(at, static_cast<std::uint8_t>(text.size()));
        } else {
            at = store(store(at, std::uint8_t{255}), static_cast<std::uint32_t>(text.size()));
        }
        std::memcpy(at, text.data(), text.size());
        return at + text.size();
    }

    std::byte* count(std::byte* at, std::size_t count) {
        at = out_.room(at, 4);
        return at == nullptr ? nullptr : store(at, static_cast<std::uint32_t>(count));
    }

    /// Count, then element by element.
    template <Collection C>
    std::byte* elements(std::byte* at, const C& all) {
        using E = Element<C>;
        if constexpr (std::is_same_v<E, bool>) {
            at = out_.template room_for<1>(count(at, all.size()), all.size());
            if (at == nullptr) return nullptr;
            for (const bool each : all) *at++ = std::byte{each};
            return at;
        } else if constexpr (Vector<C> && Flat<E> && !(Object<E> && Use::per_element)) {
            constexpr auto size = element_wire_size<E>();
            // Bytes may alias everything: what is needed of the vector is read once, before they are stored.
            const auto elements = all.size();
            const auto* const objects = reinterpret_cast<const std::byte*>(all.data());
            at = out_.template room_for<size>(at, elements, 4);
            if (at == nullptr) return nullptr;
            at = store(at, static_cast<std::uint32_t>(elements));
            if (elements == 0) return at;
            if constexpr (Object<E>) Use::template mark<E>();
            write_records(element_plan<E>(), objects, elements, at);
            return at + elements * size;
        } else if constexpr (element_wire_size<E>() > 0 && Vector<C>) {
            at = out_.template room_for<element_wire_size<E>()>(count(at, all.size()), all.size());
            if (at == nullptr) return nullptr;
            for (const auto& each : all) at = store_element(at, each);
            return at;
        } else {
            at = out_.template room_for<least_wire_size<E>()>(count(at, all.size()), all.size());
            if (out_.nesting == nesting_max) return out_.fail_depth();
            ++out_.nesting;
            for (const auto& each : all) {
                if constexpr (Map<C>) at = value(value(at, each.first), each.second);
                else at = value(at, each);
            }
            --out_.nesting;
            return at;
        }
    }

    /// Count, then member by member, each of all elements.
    template <Collection C>
    std::byte* columns(std::byte* at, const C& all) {
        at = out_.template room_for<1>(count(at, all.size()), all.size());
        if (all.empty()) return at;
        if (out_.nesting == nesting_max) return out_.fail_depth();
        ++out_.nesting;
        if constexpr (Map<C>) {
            at = column(at, all, [](const auto& each) -> const auto& { return each.first; });
            at = column(at, all, [](const auto& each) -> const auto& { return each.second; });
        } else {
            at = columns_of(at, all);
        }
        --out_.nesting;
        return at;
    }

    /// The columns of a base stand before those of the class, without a header of their own.
    template <class E>
    std::byte* columns_of(std::byte* at, const std::vector<E>& all) {
        const auto* plan = column_plans<E>().data();
        each_column<E>([&]<class Part>(std::type_identity<Part>, std::size_t offset) {
            if constexpr (Flat<Part>) {
                at = out_.template room_for<fixed_wire_size<Part>()>(at, all.size());
                if (at == nullptr) return false;
                write_records(**plan, reinterpret_cast<const std::byte*>(all.data()), all.size(), at);
                at += all.size() * fixed_wire_size<Part>();
            } else {
                at = column(at, all, [offset](const E& each) -> const auto& { return part_at<Part>(each, offset); });
            }
            ++plan;
            return at != nullptr;
        });
        return at;
    }

    template <class C, class Get>
    std::byte* column(std::byte* at, const C& all, const Get& get) {
        using Part = std::remove_cvref_t<decltype(get(*all.begin()))>;
        if constexpr (Framed<Part>) {
            using L = Leaf<Part>;
            const bool columns = in_columns<L>;
            std::size_t start = 0;
            at = open_frame<L>(at, columns, start);
            for (const auto& each : all)
                at = each_leaf(at, get(each),
                               [&](std::byte* place, const L& leaf) { return contents(place, leaf, columns); });
            return close(start, at);
        } else {
            for (const auto& each : all) at = bare_member(at, get(each));
            return at;
        }
    }

    Output& out_;
};

}  // namespace weir::serial
