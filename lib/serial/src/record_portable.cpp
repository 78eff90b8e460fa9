// SPDX-License-Identifier: Apache-2.0
// Record plans field by field. The loop over records is the inner one, so that what a field is gets decided once for
// many; a block of records stays in the first-level cache while its fields are filled.
#include <algorithm>
#include <cstring>

#include "record_implementations.hpp"
#include "weir/base/endian.hpp"

namespace weir::serial {
namespace {

constexpr std::size_t block = 256;

using Does = RecordField::Does;

/// Calls `with` for the unsigned integer of the field's size.
template <class With>
auto of_size(const RecordField& field, With with) noexcept {
    switch (field.size) {
        case 1: return with(std::uint8_t{});
        case 2: return with(std::uint16_t{});
        case 4: return with(std::uint32_t{});
        default: return with(std::uint64_t{});
    }
}

template <class T>
T load(const void* at) noexcept {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

template <class T, bool swap>
void move(const std::byte* from, std::size_t from_step, std::byte* to, std::size_t to_step,
          std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        auto value = load<T>(from + i * from_step);
        if constexpr (swap) value = byte_swap(value);
        std::memcpy(to + i * to_step, &value, sizeof value);
    }
}

/// The field's bytes from one side to the other.
void move(const RecordField& field, const std::byte* from, std::size_t from_step, std::byte* to, std::size_t to_step,
          std::size_t count) noexcept {
    of_size(field, [&](auto zero) {
        using T = decltype(zero);
        if (field.does == Does::swap) return move<T, true>(from, from_step, to, to_step, count);
        return move<T, false>(from, from_step, to, to_step, count);
    });
}

/// Whether the field is in all of the records what a reader insists on.
bool right(const RecordField& field, const std::byte* wire, std::size_t step, std::size_t count) noexcept {
    return of_size(field, [&](auto zero) {
        using T = decltype(zero);
        const auto flag = field.does == Does::flag;
        const auto value = flag ? zero : load<T>(field.value.data());
        T wrong = 0;
        for (std::size_t i = 0; i < count; ++i) wrong = static_cast<T>(wrong | (load<T>(wire + i * step) ^ value));
        return flag ? wrong <= 1 : wrong == 0;
    });
}

bool right(const RecordPlan& plan, const std::byte* wire, std::size_t count) noexcept {
    for (const auto& field : plan.fields)
        if ((field.does == Does::constant || field.does == Does::flag) &&
            !right(field, wire + field.wire, plan.wire_size, count))
            return false;
    return true;
}

/// A bool that holds another number than 0 and 1 must not be read; after an error the caller still owns these.
void make_flags_bools(const RecordPlan& plan, std::byte* objects, std::size_t count) noexcept {
    for (const auto& field : plan.fields)
        if (field.does == Does::flag)
            for (std::size_t i = 0; i < count; ++i)
                for (std::size_t byte = 0; byte < field.size; ++byte)
                    objects[i * plan.object_size + field.object + byte] &= std::byte{1};
}

}  // namespace

void turn_portable(std::uint32_t integer, const std::byte* from, std::size_t size, std::byte* to) noexcept {
    if (integer == 2) return move<std::uint16_t, true>(from, 2, to, 2, size / 2);
    if (integer == 4) return move<std::uint32_t, true>(from, 4, to, 4, size / 4);
    return move<std::uint64_t, true>(from, 8, to, 8, size / 8);
}

void write_records_portable(const RecordPlan& plan, const std::byte* objects, std::size_t count,
                            std::byte* wire) noexcept {
    const auto size = count * plan.wire_size;
    if (plan.turned == 1 && size > 0) return void(std::memcpy(wire, objects, size));
    if (plan.turned > 1) return turn_portable(plan.turned, objects, size, wire);
    while (count > 0) {
        const auto now = std::min(count, block);
        for (const auto& field : plan.fields) {
            const auto* const from = objects + field.object;
            auto* const to = wire + field.wire;
            if (field.does == Does::constant) {
                of_size(field, [&](auto zero) {
                    const auto value = load<decltype(zero)>(field.value.data());
                    for (std::size_t i = 0; i < now; ++i) std::memcpy(to + i * plan.wire_size, &value, sizeof value);
                });
            } else {
                move(field, from, plan.object_size, to, plan.wire_size, now);
            }
        }
        objects += now * plan.object_size;
        wire += now * plan.wire_size;
        count -= now;
    }
}

std::size_t read_records_portable(const RecordPlan& plan, const std::byte* wire, std::size_t count,
                                  std::byte* objects) noexcept {
    if (plan.turned > 0) {  // the same way back
        write_records_portable(plan, wire, count, objects);
        return count;
    }
    for (std::size_t done = 0; done < count;) {
        const auto now = std::min(count - done, block);
        const auto* const from = wire + done * plan.wire_size;
        auto* const to = objects + done * plan.object_size;
        for (const auto& field : plan.fields)
            if (field.does != Does::constant)
                move(field, from + field.wire, plan.wire_size, to + field.object, plan.object_size, now);
        if (!right(plan, from, now)) {
            make_flags_bools(plan, to, count - done);
            for (std::size_t i = 0; i < now; ++i)
                if (!right(plan, from + i * plan.wire_size, 1)) return done + i;
        }
        done += now;
    }
    return count;
}

}  // namespace weir::serial
