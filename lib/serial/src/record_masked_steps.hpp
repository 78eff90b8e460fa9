// SPDX-License-Identifier: Apache-2.0
// Record plans in steps of 64 bytes, where loads and stores take masks: a step touches nothing but its own bytes, so
// the end of the data is a step with a smaller mask and padding is left alone. Included by the files that bind it to an
// instruction set, inside their unnamed namespace. `Permute` holds a table of 64 indices and answers with the
// bytes at them, 0 where bit 7 of an index is set.
//
// One step serves as many records as fit, and its tables stay in registers. Stores of 56 bytes at 56 bytes' distance
// (four Things) cross cache lines; filling whole lines instead needs other tables for every line and was slower.

/// Of fewer than 64: a step that is not full has less than that on both sides.
inline __mmask64 first_bytes(std::size_t size) noexcept { return ~(~std::uint64_t{0} << (size & 63)); }

inline __m512i load_table(const std::array<std::uint8_t, 64>& table) noexcept {
    return _mm512_loadu_si512(table.data());
}

struct StepSizes {
    std::size_t records, wire_size, object_size;  // records a step, and the sizes of one
};

template <class Permute>
inline void write_step(const RecordStep<64>& step, const StepSizes& sizes, const std::byte* objects, std::size_t count,
                       std::byte* wire) noexcept {
    const Permute permute(load_table(step.to_wire));
    const auto constants = load_table(step.constants);
    // Bytes may alias everything: what the loop needs of the step is read before it.
    const __mmask64 object_bytes = step.object_bytes, wire_bytes = step.wire_bytes;
    const auto object_stride = sizes.records * sizes.object_size, wire_stride = sizes.records * sizes.wire_size;
    objects += step.object;
    wire += step.wire;
    for (; count >= sizes.records; count -= sizes.records, objects += object_stride, wire += wire_stride) {
        const auto bytes = permute(_mm512_maskz_loadu_epi8(object_bytes, objects));
        _mm512_mask_storeu_epi8(wire, wire_bytes, _mm512_or_si512(bytes, constants));
    }
    if (count == 0) return;
    const auto objects_here = object_bytes & first_bytes(count * sizes.object_size);
    const auto wire_here = wire_bytes & first_bytes(count * sizes.wire_size);
    const auto bytes = permute(_mm512_maskz_loadu_epi8(objects_here, objects));
    _mm512_mask_storeu_epi8(wire, wire_here, _mm512_or_si512(bytes, constants));
}

/// Returns whether the constants were right.
template <class Permute>
inline bool read_step(const RecordStep<64>& step, const StepSizes& sizes, const std::byte* wire, std::size_t count,
                      std::byte* objects) noexcept {
    const Permute permute(load_table(step.to_object));
    const auto constants = load_table(step.constants), insisted_on = load_table(step.insisted_on);
    const __mmask64 object_bytes = step.object_bytes, wire_bytes = step.wire_bytes;
    const auto object_stride = sizes.records * sizes.object_size, wire_stride = sizes.records * sizes.wire_size;
    const auto with_differences = [&](__m512i wrong, __m512i bytes, __m512i where) noexcept {
        return _mm512_ternarylogic_epi64(wrong, _mm512_xor_si512(bytes, constants), where, 0xf0 | (0xcc & 0xaa));
    };
    auto wrong = _mm512_setzero_si512();
    objects += step.object;
    wire += step.wire;
    for (; count >= sizes.records; count -= sizes.records, objects += object_stride, wire += wire_stride) {
        const auto bytes = _mm512_maskz_loadu_epi8(wire_bytes, wire);
        wrong = with_differences(wrong, bytes, insisted_on);
        _mm512_mask_storeu_epi8(objects, object_bytes, permute.loosely(bytes));
    }
    if (count > 0) {
        const auto objects_here = object_bytes & first_bytes(count * sizes.object_size);
        const auto wire_here = wire_bytes & first_bytes(count * sizes.wire_size);
        const auto bytes = _mm512_maskz_loadu_epi8(wire_here, wire);
        wrong = with_differences(wrong, bytes, _mm512_maskz_mov_epi8(wire_here, insisted_on));
        _mm512_mask_storeu_epi8(objects, objects_here, permute.loosely(bytes));
    }
    return _mm512_test_epi64_mask(wrong, wrong) == 0;
}

/// Integers of 2, 4 or 8 bytes into the other byte order.
[[gnu::noinline]] inline void turn_masked(std::uint32_t integer, const std::byte* from, std::size_t size,
                                          std::byte* to) noexcept {
    const auto places = _mm512_maskz_broadcast_i32x4(0xffff, turned_places(integer));  // g++ 12 warns of the plain one
    for (; size >= 256; size -= 256, from += 256, to += 256)
        for (std::size_t part = 0; part < 256; part += 64)
            _mm512_storeu_si512(to + part, _mm512_shuffle_epi8(_mm512_loadu_si512(from + part), places));
    for (; size >= 64; size -= 64, from += 64, to += 64)
        _mm512_storeu_si512(to, _mm512_shuffle_epi8(_mm512_loadu_si512(from), places));
    if (size == 0) return;
    const auto here = first_bytes(size);
    _mm512_mask_storeu_epi8(to, here, _mm512_shuffle_epi8(_mm512_maskz_loadu_epi8(here, from), places));
}

/// Blocks stay in the first-level cache while several steps go over them.
constexpr std::size_t block_of_one_step = 256, block_of_several = 32;

template <class Permute>
[[gnu::noinline]] inline void write_several_steps(const RecordPlan& plan, const std::byte* objects, std::size_t count,
                                                  std::byte* wire) noexcept {
    const auto steps = plan.wide.steps;
    const StepSizes sizes{1, plan.wire_size, plan.object_size};
    for (std::size_t done = 0, now = 0; done < count; done += now) {
        now = std::min(count - done, block_of_several);
        for (const auto& step : steps)
            write_step<Permute>(step, sizes, objects + done * sizes.object_size, now, wire + done * sizes.wire_size);
    }
}

template <class Permute>
inline void write_masked(const RecordPlan& plan, const std::byte* objects, std::size_t count,
                         std::byte* wire) noexcept {
    if (count == 0) return;  // there may be no memory either
    if (plan.turned > 1) return turn_masked(plan.turned, objects, count * plan.wire_size, wire);
    if (plan.turned == 1 || plan.wide.records == 0) return write_records_portable(plan, objects, count, wire);
    if (plan.wide.steps.size() > 1) return write_several_steps<Permute>(plan, objects, count, wire);
    write_step<Permute>(plan.wide.steps[0], {plan.wide.records, plan.wire_size, plan.object_size}, objects, count,
                        wire);
}

template <class Permute>
[[gnu::noinline]] inline std::size_t read_several_steps(const RecordPlan& plan, const std::byte* wire,
                                                        std::size_t count, std::byte* objects) noexcept {
    const auto steps = plan.wide.steps;
    const StepSizes sizes{1, plan.wire_size, plan.object_size};
    for (std::size_t done = 0, now = 0; done < count; done += now) {
        now = std::min(count - done, block_of_several);
        const auto* const from = wire + done * sizes.wire_size;
        auto* const to = objects + done * sizes.object_size;
        bool right = true;
        for (const auto& step : steps) right &= read_step<Permute>(step, sizes, from, now, to);
        if (!right) return done + read_records_portable(plan, from, now, to);
    }
    return count;
}

template <class Permute>
inline std::size_t read_one_step(const RecordPlan& plan, const std::byte* wire, std::size_t count,
                                 std::byte* objects) noexcept {
    const StepSizes sizes{plan.wide.records, plan.wire_size, plan.object_size};
    if (read_step<Permute>(plan.wide.steps[0], sizes, wire, count, objects)) return count;
    return read_records_portable(plan, wire, count, objects);  // which one was it?
}

template <class Permute>
[[gnu::noinline]] inline std::size_t read_blocks(const RecordPlan& plan, const std::byte* wire, std::size_t count,
                                                 std::byte* objects) noexcept {
    for (std::size_t done = 0, now = 0; done < count; done += now) {
        now = std::min(count - done, plan.wide.records * block_of_one_step);
        const auto read =
            read_one_step<Permute>(plan, wire + done * plan.wire_size, now, objects + done * plan.object_size);
        if (read < now) return done + read;
    }
    return count;
}

template <class Permute>
inline std::size_t read_masked(const RecordPlan& plan, const std::byte* wire, std::size_t count,
                               std::byte* objects) noexcept {
    if (count == 0) return 0;
    if (plan.turned > 1) {
        turn_masked(plan.turned, wire, count * plan.wire_size, objects);
        return count;
    }
    if (plan.turned == 1 || plan.wide.records == 0) return read_records_portable(plan, wire, count, objects);
    if (plan.wide.steps.size() > 1) return read_several_steps<Permute>(plan, wire, count, objects);
    if (count <= plan.wide.records * block_of_one_step) return read_one_step<Permute>(plan, wire, count, objects);
    return read_blocks<Permute>(plan, wire, count, objects);
}
