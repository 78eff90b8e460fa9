// SPDX-License-Identifier: Apache-2.0
// The bytes of a record on the wire, and the steps in which kernels process them: into fields of 1 to 8 bytes that
// are moved as one (portable code), and into steps of 16 or 64 bytes whose bytes change places by one instruction.
// All of it is worked out at compile time.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

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

/// 1, 2, 4 or 8 neighbouring bytes of a record.
struct RecordField {
    enum class Does : std::uint8_t { constant, copy, swap, flag };
    Does does = Does::constant;
    std::uint8_t size = 0;
    std::uint32_t wire = 0;    // where in the record
    std::uint32_t object = 0;  // where in the object: the lowest of its bytes
    std::array<std::uint8_t, 8> value{};
};

/// Up to `width` neighbouring bytes on the wire, of one record or of several, that come from `width` bytes of memory.
template <std::size_t width>
struct RecordStep {
    std::uint32_t wire = 0, object = 0;  // where both windows begin
    std::uint64_t wire_bytes = 0;        // a bit for each byte of the windows that belongs to the step
    std::uint64_t object_bytes = 0;
    alignas(width) std::array<std::uint8_t, width> to_wire{};  // which byte of the object's window; 0x80: none
    std::array<std::uint8_t, width> to_object{};               // which byte of the wire's window; 0x80: none
    std::array<std::uint8_t, width> constants{};               // 0 for the others
    std::array<std::uint8_t, width> insisted_on{};             // the bits a reader looks at
};

/// The steps of `records` records at once: of several when they fit into one step, else of one.
template <std::size_t width>
struct RecordSteps {
    std::span<const RecordStep<width>> steps{};
    std::uint32_t records = 0;  // 0: steps would be no gain
    std::uint32_t spare = 0;    // so many rounds at the end of the data have windows that leave it
    bool covers = false;        // the steps fill the objects in order and without gaps
};

/// Room for steps that is enough unless members jump about in memory.
template <std::size_t width>
constexpr std::size_t steps_max(std::size_t wire_size) noexcept {
    return wire_size <= width ? 2 : 2 * ((wire_size + width - 1) / width);
}

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

/// Of a record that is as large as the object: the size of the integers it consists of when only their byte order is
/// another, 1 when nothing is, else 0.
constexpr std::uint32_t turned_in_place(std::span<const RecordField> fields) noexcept {
    const auto turned = [&](const RecordField& field) {
        return field.does == RecordField::Does::swap ? field.size : 1U;
    };
    for (const auto& field : fields) {
        const auto moves = field.does == RecordField::Does::copy || field.does == RecordField::Does::swap;
        if (!moves || field.wire != field.object || turned(field) != turned(fields.front())) return 0;
    }
    return turned(fields.front());
}

/// Begins a step with the first of these fields and with as many as both of its windows hold. Returns how many.
template <std::size_t width>
constexpr std::size_t find_step(std::span<const RecordField> fields, RecordStep<width>& step) noexcept {
    std::size_t lowest = SIZE_MAX, highest = 0, count = 0;
    for (; count < fields.size(); ++count) {
        const auto& field = fields[count];
        if (field.wire + field.size - fields.front().wire > width) break;
        if (field.does == RecordField::Does::constant) continue;
        const auto low = std::min<std::size_t>(lowest, field.object);
        const auto high = std::max<std::size_t>(highest, field.object + field.size);
        if (high - low > width) break;
        lowest = low, highest = high;
    }
    step = {};
    step.wire = fields.front().wire;
    step.object = lowest == SIZE_MAX ? 0 : static_cast<std::uint32_t>(lowest);
    step.to_wire.fill(0x80);
    step.to_object.fill(0x80);
    return count;
}

/// Enters into a step the `size` bytes from `at` on of the record that is `record` records behind its first.
template <std::size_t width>
constexpr void fill_step(std::span<const WireByte> bytes, std::size_t at, std::size_t size, std::size_t record,
                         std::size_t object_size, RecordStep<width>& step) noexcept {
    for (std::size_t i = 0; i < size; ++i) {
        const auto& byte = bytes[at + i];
        const auto on_wire = record * bytes.size() + i;
        step.wire_bytes |= std::uint64_t{1} << on_wire;
        step.constants[on_wire] = byte.is == WireByte::Is::constant ? byte.value : 0;
        step.insisted_on[on_wire] = byte.is == WireByte::Is::constant ? 0xff : byte.is == WireByte::Is::flag ? 0xfe : 0;
        if (byte.is == WireByte::Is::constant) continue;
        const auto in_object = record * object_size + byte.index - step.object;
        step.object_bytes |= std::uint64_t{1} << in_object;
        step.to_wire[on_wire] = static_cast<std::uint8_t>(in_object);
        step.to_object[in_object] = static_cast<std::uint8_t>(on_wire);
    }
}

/// Splits records that have these fields into steps, when that is a gain.
template <std::size_t width>
constexpr RecordSteps<width> find_steps(std::span<const WireByte> bytes, std::size_t object_size,
                                        std::span<const RecordField> fields,
                                        std::span<RecordStep<width>> room) noexcept {
    constexpr std::size_t worth = width == 64 ? 3 : 1;  // a step takes as long as so many fields
    std::size_t count = 0, records = 1, wire_reach = 0, object_reach = 0, filled = 0;
    bool covers = true;
    for (std::size_t at = 0, first = 0; first < fields.size(); ++count) {
        if (count == room.size()) return {};
        auto& step = room[count];
        first += find_step(fields.subspan(first), step);
        const auto size = (first < fields.size() ? fields[first].wire : bytes.size()) - at;
        fill_step(bytes, at, size, 0, object_size, step);
        if (size == bytes.size()) {  // all of a record: more of them, as far as they fit
            const auto span = static_cast<std::size_t>(std::bit_width(step.object_bytes));
            while ((records + 1) * size <= width && records * object_size + span <= width)
                fill_step(bytes, at, size, records++, object_size, step);
        }
        const auto used = static_cast<std::size_t>(std::countr_one(step.object_bytes));
        if (std::popcount(step.object_bytes) > 0) {
            covers = covers && step.object == filled && std::cmp_equal(std::popcount(step.object_bytes), used);
            filled = step.object + used;
        } else {
            step.object = static_cast<std::uint32_t>(filled);  // bytes stored there without a mask are corrected later
        }
        wire_reach = std::max(wire_reach, at + width);
        object_reach = std::max<std::size_t>(object_reach, step.object + width);
        at += size;
    }
    if (fields.size() * records < worth * count) return {};
    covers = covers && filled == records * object_size;
    const auto rounds = [](std::size_t reach, std::size_t stride) { return (reach + stride - 1) / stride - 1; };
    const auto spare =
        std::max(rounds(wire_reach, records * bytes.size()), rounds(object_reach, records * object_size));
    return {room.first(count), static_cast<std::uint32_t>(records), static_cast<std::uint32_t>(spare), covers};
}

}  // namespace weir::serial
