// SPDX-License-Identifier: Apache-2.0
// Record plans on SSSE3: pshufb puts 16 bytes in any order.
#include "record_implementations.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

#include "weir/base/target.hpp"

WEIR_TARGET_BEGIN("ssse3")
namespace weir::serial {
namespace {

#include "record_narrow_steps.hpp"
#include "record_xmm.hpp"

struct Ssse3 : Xmm {
    static void turn(std::uint32_t integer, const std::byte* from, std::size_t size, std::byte* to) noexcept {
        const auto places = turned_places(integer);
        for (; size >= 64; size -= 64, from += 64, to += 64)
            for (std::size_t part = 0; part < 64; part += 16) store(to + part, shuffle(load(from + part), places));
        turn_portable(integer, from, size, to);
    }
};

}  // namespace

void write_records_ssse3(const RecordPlan& plan, const std::byte* objects, std::size_t count,
                         std::byte* wire) noexcept {
    write_narrow<Ssse3>(plan, objects, count, wire);
}

std::size_t read_records_ssse3(const RecordPlan& plan, const std::byte* wire, std::size_t count,
                               std::byte* objects) noexcept {
    return read_narrow<Ssse3>(plan, wire, count, objects);
}

}  // namespace weir::serial
WEIR_TARGET_END
#endif
