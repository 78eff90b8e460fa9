// SPDX-License-Identifier: Apache-2.0
// How records of one fixed size on the wire are made of objects that lie at a fixed distance in memory: every byte on
// the wire is either a constant (byte count, version, checksum) or a byte of the object. Big-endian integers are
// bytes in turned order, so a whole class, one column of a member-wise vector and a plain array of integers are all the
// same thing: bytes that change their places, which processors do 16 or 64 at a time. The tables for that are made at
// compile time:
//
//     // struct Thing { int a; }, object-wise: 40 00 00 0a, 00 00, 00 0d a4 f8, a
//     static constexpr RecordTables<14> thing({constant_byte(0x40), ..., object_byte(3), ..., object_byte(0)},
//                                             sizeof(Thing));
//     write_records(thing, objects, count, wire);
#pragma once

#include <atomic>
#include <string_view>

#include "weir/base/assert.hpp"
#include "weir/serial/record_steps.hpp"

namespace weir::serial {

/// Tables take some 40 times the record's size: a plan is for many small records.
inline constexpr std::size_t record_size_max = 0x1000;

/// A plan as the kernels see it. Valid as long as the RecordTables that it looks into.
struct RecordPlan {
    std::uint32_t wire_size = 0;    // from record to record on the wire
    std::uint32_t object_size = 0;  // from object to object in memory
    /// 1: wire and memory are the same; 2, 4, 8: but for the byte order of integers of this size.
    std::uint32_t turned = 0;
    std::span<const RecordField> fields{};
    RecordSteps<16> narrow{};
    RecordSteps<64> wide{};
};

/// Makes the tables of a plan in the room that is given: a field per byte, and steps_max() steps.
[[nodiscard]] constexpr RecordPlan prepare(std::span<const WireByte> bytes, std::size_t object_size,
                                           std::span<RecordField> fields, std::span<RecordStep<16>> narrow,
                                           std::span<RecordStep<64>> wide) noexcept {
    WEIR_ASSERT(!bytes.empty() && bytes.size() <= record_size_max && object_size > 0 && object_size <= 0x1000000);
    for (const auto& byte : bytes) WEIR_ASSERT(byte.is == WireByte::Is::constant || byte.index < object_size);
    fields = fields.first(find_fields(bytes, fields));
    return {static_cast<std::uint32_t>(bytes.size()),
            static_cast<std::uint32_t>(object_size),
            bytes.size() == object_size ? turned_in_place(fields) : 0,
            fields,
            find_steps<16>(bytes, object_size, fields, narrow),
            find_steps<64>(bytes, object_size, fields, wide)};
}

/// The same at run time, compiled once and not in everything that streams a class.
[[nodiscard]] RecordPlan prepare_at_run_time(std::span<const WireByte> bytes, std::size_t object_size,
                                             std::span<RecordField> fields, std::span<RecordStep<16>> narrow,
                                             std::span<RecordStep<64>> wide) noexcept;

/// A plan and its tables: `bytes` describes a record, `object_size` is the distance of objects in memory.
/// Made at compile time or once; it cannot be copied, as its plan points into it. No byte of the object may be
/// named twice; those that are not named (padding, other columns) keep what they hold when a reader fills the object.
template <std::size_t wire_size>
class RecordTables {
    static_assert(wire_size > 0 && wire_size <= record_size_max);

public:
    constexpr RecordTables(const std::array<WireByte, wire_size>& bytes, std::size_t object_size) noexcept {
        if consteval {
            plan_ = prepare(bytes, object_size, fields_, narrow_, wide_);
        } else {
            plan_ = prepare_at_run_time(bytes, object_size, fields_, narrow_, wide_);
        }
    }
    RecordTables(const RecordTables&) = delete;
    RecordTables& operator=(const RecordTables&) = delete;

    [[nodiscard]] constexpr const RecordPlan& plan() const noexcept { return plan_; }
    constexpr operator const RecordPlan&() const noexcept { return plan_; }  // tables are their plan

private:
    std::array<RecordField, wire_size> fields_{};
    std::array<RecordStep<16>, steps_max<16>(wire_size)> narrow_{};
    std::array<RecordStep<64>, steps_max<64>(wire_size)> wide_{};
    RecordPlan plan_;
};

using WriteRecordsFunction = void(const RecordPlan&, const std::byte* objects, std::size_t count,
                                  std::byte* wire) noexcept;
using ReadRecordsFunction = std::size_t(const RecordPlan&, const std::byte* wire, std::size_t count,
                                        std::byte* objects) noexcept;

/// The best implementation for this processor. Until the first call it is one that chooses; threads that call at the
/// same time choose the same, and need nothing else: relaxed.
struct KernelsInUse {
    std::atomic<WriteRecordsFunction*> write;
    std::atomic<ReadRecordsFunction*> read;
};
extern constinit KernelsInUse kernels_in_use;

/// Makes `count` records of `wire_size` bytes at `wire`. Neither reads outside of the count * object_size bytes at
/// `objects` nor writes outside of the count * wire_size bytes at `wire`; the two do not overlap.
inline void write_records(const RecordPlan& plan, const std::byte* objects, std::size_t count,
                          std::byte* wire) noexcept {
    kernels_in_use.write.load(std::memory_order_relaxed)(plan, objects, count, wire);
}

/// The way back. Returns the index of the first record that has other constants (or a flag that is neither 0 nor 1), or
/// `count`. Objects before that index are read; what the others hold then is unspecified, padding excepted, but flags
/// are 0 or 1. The same limits hold. Some hundreds of records behind a wrong one may have been read: to go on behind
/// it record by record, use other means than calling this for the rest each time.
[[nodiscard]] inline std::size_t read_records(const RecordPlan& plan, const std::byte* wire, std::size_t count,
                                              std::byte* objects) noexcept {
    return kernels_in_use.read.load(std::memory_order_relaxed)(plan, wire, count, objects);
}

/// The name of the implementation in use.
[[nodiscard]] std::string_view record_kernel_name() noexcept;

}  // namespace weir::serial
