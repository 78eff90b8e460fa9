// SPDX-License-Identifier: Apache-2.0
// How records of one fixed size on the wire are made of objects that lie at a fixed distance in memory: every byte on
// the wire is either a constant (byte count, version, checksum) or a byte of the object. Big-endian integers are
// objects' bytes in turned order, so a whole class, one column of a member-wise vector and a plain array of integers
// are all the same thing: bytes that change their places, which processors do 16 or 64 at a time. The tables for that
// are made at compile time:
//
//     // struct Thing { int a; }, object-wise: 40 00 00 0a, 00 00, 00 0d a4 f8, a
//     static constexpr RecordTables<14> thing({constant_byte(0x40), ..., object_byte(3), ..., object_byte(0)},
//     sizeof(Thing)); write_records(thing, objects, count, wire);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "weir/base/assert.hpp"

namespace weir::serial {

/// One byte of a record on the wire.
struct WireByte {
    enum class Is : std::uint8_t {
        constant,  // always `value`; a reader insists on it
        object,    // byte `index` of the object
        flag,      // the same, and a reader insists on 0 or 1: a bool
    };
    Is is = Is::constant;
    std::uint8_t value = 0;
    std::uint32_t index = 0;
};

[[nodiscard]] constexpr WireByte constant_byte(std::uint8_t value) noexcept {
    return {WireByte::Is::constant, value, 0};
}
[[nodiscard]] constexpr WireByte object_byte(std::size_t index) noexcept {
    return {WireByte::Is::object, 0, static_cast<std::uint32_t>(index)};
}
[[nodiscard]] constexpr WireByte flag_byte(std::size_t index) noexcept {
    return {WireByte::Is::flag, 0, static_cast<std::uint32_t>(index)};
}

/// 1, 2, 4 or 8 neighbouring bytes of a record that are moved as one: what portable code works with.
struct RecordField {
    enum class Does : std::uint8_t { constant, copy, swap, flag };
    Does does = Does::constant;
    std::uint8_t size = 0;
    std::uint32_t wire = 0;    // where in the record
    std::uint32_t object = 0;  // where in the object: the lowest of its bytes
    std::array<std::uint8_t, 8> value{};
};

/// What the kernels see of a plan. Valid as long as the RecordTables that it looks into.
struct RecordPlan {
    std::uint32_t wire_size = 0;    // from record to record on the wire
    std::uint32_t object_size = 0;  // from object to object in memory
    std::span<const RecordField> fields{};
};

/// The tables of one plan: `bytes` says what the record consists of, `object_size` is the distance of objects in
/// memory. Made at compile time or once; it cannot be copied, as its plan points into it. No byte of the object may be
/// named twice; those that are not named (padding, other columns) are never written by a reader.
template <std::size_t wire_size>
class RecordTables {
    static_assert(wire_size > 0 && wire_size <= 0x10000);

public:
    constexpr RecordTables(const std::array<WireByte, wire_size>& bytes, std::size_t object_size) noexcept;
    RecordTables(const RecordTables&) = delete;
    RecordTables& operator=(const RecordTables&) = delete;

    [[nodiscard]] constexpr const RecordPlan& plan() const noexcept { return plan_; }
    constexpr operator const RecordPlan&() const noexcept { return plan_; }  // NOLINT: tables are their plan

private:
    std::array<RecordField, wire_size> fields_{};
    RecordPlan plan_;
};

/// Makes `count` records of `wire_size` bytes at `wire`. Neither reads outside of the count * object_size bytes at
/// `objects` nor writes outside of the count * wire_size bytes at `wire`; the two do not overlap.
void write_records(const RecordPlan& plan, const std::byte* objects, std::size_t count, std::byte* wire) noexcept;

/// The way back. Returns the index of the first record that has other constants (or a flag that is neither 0 nor 1), or
/// `count`. Objects before that index are read; what the others hold then is unspecified. The same limits hold.
[[nodiscard]] std::size_t read_records(const RecordPlan& plan, const std::byte* wire, std::size_t count,
                                       std::byte* objects) noexcept;

/// The name of the implementation in use.
[[nodiscard]] std::string_view record_kernel_name() noexcept;

/// Splits a record into fields; returns how many. `fields` has room for one per byte.
constexpr std::size_t find_fields(std::span<const WireByte> bytes, std::span<RecordField> fields) noexcept {
    using Is = WireByte::Is;
    using Does = RecordField::Does;
    std::size_t count = 0;
    for (std::size_t at = 0; at < bytes.size();) {
        const auto fits = [&](std::size_t size, auto same) {
            if (at + size > bytes.size()) return false;
            for (std::size_t i = 0; i < size; ++i)
                if (bytes[at + i].is != bytes[at].is || !same(i)) return false;
            return true;
        };
        const auto place = [&](std::size_t i) { return std::size_t{bytes[at + i].index}; };
        RecordField field{Does::flag, 1, static_cast<std::uint32_t>(at), bytes[at].index, {}};
        for (std::size_t size = 8; bytes[at].is != Is::flag; size /= 2) {
            const auto constant = bytes[at].is == Is::constant;
            const auto turned = !constant && fits(size, [&](std::size_t i) { return place(i) + i == place(0); });
            if (!turned && !fits(size, [&](std::size_t i) { return constant || place(i) == place(0) + i; })) continue;
            field.does = constant ? Does::constant : turned && size > 1 ? Does::swap : Does::copy;
            field.size = static_cast<std::uint8_t>(size);
            if (field.does == Does::swap) field.object = bytes[at + size - 1].index;
            for (std::size_t i = 0; constant && i < size; ++i) field.value[i] = bytes[at + i].value;
            break;
        }
        fields[count++] = field;
        at += field.size;
    }
    return count;
}

template <std::size_t wire_size>
constexpr RecordTables<wire_size>::RecordTables(const std::array<WireByte, wire_size>& bytes,
                                                std::size_t object_size) noexcept {
    for (const auto& byte : bytes) WEIR_ASSERT(byte.is == WireByte::Is::constant || byte.index < object_size);
    plan_ = {wire_size, static_cast<std::uint32_t>(object_size),
             std::span<const RecordField>(fields_).first(find_fields(bytes, fields_))};
}

}  // namespace weir::serial
