// SPDX-License-Identifier: Apache-2.0
// Record plans in steps of 16 bytes, where loads and stores always move 16. The next step overwrites the
// bytes that a store writes behind its own, so steps go in order, and stop where a window would leave the data: the
// rest goes through a room with a margin, or by fields. A reader can do that only when the objects have no gaps.
// Included by the files that bind it to an instruction set, inside their unnamed namespace. `Simd` has the
// instructions; its shuffle gives 0 where bit 7 of an index is set.

inline std::size_t whole_rounds(const RecordSteps<16>& set, std::size_t count) noexcept {
    return set.records == 1 ? count : count / set.records;
}

/// How many rounds of steps stay inside of the data.
inline std::size_t rounds_inside(const RecordSteps<16>& set, std::size_t count) noexcept {
    const auto rounds = whole_rounds(set, count);
    return rounds > set.spare ? rounds - set.spare : 0;
}

/// Room for the last records, of which the windows leave the data.
struct Room {
    static constexpr std::size_t size = 512, margin = 16;
    alignas(16) std::byte objects[size + margin];
    alignas(16) std::byte wire[size + margin];

    static bool holds(const RecordPlan& plan, std::size_t count) noexcept {
        return count * plan.object_size <= size && count * plan.wire_size <= size;
    }
};

/// Bytes may alias everything: what the loops need of the plan is read before them.
template <class Simd>
inline void write_rounds(const RecordPlan& plan, const std::byte* objects, std::size_t rounds,
                         std::byte* wire) noexcept {
    const auto object_stride = std::size_t{plan.narrow.records} * plan.object_size;
    const auto wire_stride = std::size_t{plan.narrow.records} * plan.wire_size;
    const auto write = [](const std::byte* from, auto places, auto constants, std::byte* to) noexcept {
        Simd::store(to, Simd::either(Simd::shuffle(Simd::load(from), places), constants));
    };
    const auto steps = plan.narrow.steps;
    if (steps.size() > 1) {
        for (; rounds > 0; --rounds, objects += object_stride, wire += wire_stride)
            for (const auto& step : steps)
                write(objects + step.object, Simd::load(step.to_wire.data()), Simd::load(step.constants.data()),
                      wire + step.wire);
        return;
    }
    const auto places = Simd::load(steps[0].to_wire.data()), constants = Simd::load(steps[0].constants.data());
    objects += steps[0].object;
#pragma GCC unroll 4
    for (; rounds > 0; --rounds, objects += object_stride, wire += wire_stride) write(objects, places, constants, wire);
}

template <class Simd>
inline void write_narrow(const RecordPlan& plan, const std::byte* objects, std::size_t count,
                         std::byte* wire) noexcept {
    if (plan.turned > 1) return Simd::turn(plan.turned, objects, count * plan.wire_size, wire);
    if (plan.turned == 1 || plan.narrow.records == 0) return write_records_portable(plan, objects, count, wire);
    const auto rounds = rounds_inside(plan.narrow, count), records = rounds * plan.narrow.records;
    if (rounds > 0) write_rounds<Simd>(plan, objects, rounds, wire);
    objects += records * plan.object_size;
    wire += records * plan.wire_size;
    count -= records;
    const auto rest = whole_rounds(plan.narrow, count), last = rest * plan.narrow.records;
    if (rest > 0 && Room::holds(plan, last)) {
        Room room;
        const auto size = last * plan.object_size;
        std::memcpy(room.objects, objects, size);
        Simd::store(room.objects + size, Simd::zero());
        write_rounds<Simd>(plan, room.objects, rest, room.wire);
        std::memcpy(wire, room.wire, last * plan.wire_size);
        objects += size;
        wire += last * plan.wire_size;
        count -= last;
    }
    if (count > 0) write_records_portable(plan, objects, count, wire);
}

/// Returns whether the constants were right.
template <class Simd>
inline bool read_rounds(const RecordPlan& plan, const std::byte* wire, std::size_t rounds,
                        std::byte* objects) noexcept {
    const auto object_stride = std::size_t{plan.narrow.records} * plan.object_size;
    const auto wire_stride = std::size_t{plan.narrow.records} * plan.wire_size;
    auto wrong = Simd::zero();
    const auto read = [&wrong](const std::byte* from, auto places, auto constants, auto insisted_on,
                               std::byte* to) noexcept {
        const auto bytes = Simd::load(from);
        wrong = Simd::either(wrong, Simd::both(Simd::differ(bytes, constants), insisted_on));
        Simd::store(to, Simd::shuffle(bytes, places));
    };
    const auto steps = plan.narrow.steps;
    if (steps.size() > 1) {
        for (; rounds > 0; --rounds, objects += object_stride, wire += wire_stride)
            for (const auto& step : steps)
                read(wire + step.wire, Simd::load(step.to_object.data()), Simd::load(step.constants.data()),
                     Simd::load(step.insisted_on.data()), objects + step.object);
    } else {
        const auto places = Simd::load(steps[0].to_object.data()), constants = Simd::load(steps[0].constants.data());
        const auto insisted_on = Simd::load(steps[0].insisted_on.data());
#pragma GCC unroll 4
        for (; rounds > 0; --rounds, objects += object_stride, wire += wire_stride)
            read(wire, places, constants, insisted_on, objects);
    }
    return !Simd::any(wrong);
}

template <class Simd>
inline std::size_t read_narrow(const RecordPlan& plan, const std::byte* wire, std::size_t count,
                               std::byte* objects) noexcept {
    if (plan.turned > 1) {
        Simd::turn(plan.turned, wire, count * plan.wire_size, objects);
        return count;
    }
    if (plan.turned == 1 || plan.narrow.records == 0 || !plan.narrow.covers)
        return read_records_portable(plan, wire, count, objects);
    constexpr std::size_t block = 256;  // rounds before their constants are judged
    std::size_t done = 0;
    for (std::size_t rounds = rounds_inside(plan.narrow, count), now = 0; rounds > 0; rounds -= now) {
        now = rounds < block ? rounds : block;
        const auto* const from = wire + done * plan.wire_size;
        auto* const to = objects + done * plan.object_size;
        const auto records = now * plan.narrow.records;
        if (!read_rounds<Simd>(plan, from, now, to)) return done + read_records_portable(plan, from, records, to);
        done += records;
    }
    const auto rest = whole_rounds(plan.narrow, count - done), last = rest * plan.narrow.records;
    if (rest > 0 && Room::holds(plan, last)) {
        Room room;
        const auto size = last * plan.wire_size;
        std::memcpy(room.wire, wire + done * plan.wire_size, size);
        Simd::store(room.wire + size, Simd::zero());
        if (read_rounds<Simd>(plan, room.wire, rest, room.objects)) {  // else the fields locate the fault
            std::memcpy(objects + done * plan.object_size, room.objects, last * plan.object_size);
            done += last;
        }
    }
    if (done == count) return count;
    return done +
           read_records_portable(plan, wire + done * plan.wire_size, count - done, objects + done * plan.object_size);
}
