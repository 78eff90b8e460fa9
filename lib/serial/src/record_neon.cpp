// SPDX-License-Identifier: Apache-2.0
// Record plans on NEON: tbl puts 16 bytes in any order, and gives 0 for an index beyond.
#include "record_implementations.hpp"

#if defined(__aarch64__)
#include <arm_neon.h>

#include <cstring>

namespace weir::serial {
namespace {

#include "record_narrow_steps.hpp"

struct Neon {
    static uint8x16_t load(const void* at) noexcept { return vld1q_u8(static_cast<const std::uint8_t*>(at)); }
    static void store(void* at, uint8x16_t bytes) noexcept { vst1q_u8(static_cast<std::uint8_t*>(at), bytes); }
    static uint8x16_t shuffle(uint8x16_t bytes, uint8x16_t places) noexcept { return vqtbl1q_u8(bytes, places); }
    static uint8x16_t zero() noexcept { return vdupq_n_u8(0); }
    static uint8x16_t either(uint8x16_t a, uint8x16_t b) noexcept { return vorrq_u8(a, b); }
    static uint8x16_t both(uint8x16_t a, uint8x16_t b) noexcept { return vandq_u8(a, b); }
    static uint8x16_t differ(uint8x16_t a, uint8x16_t b) noexcept { return veorq_u8(a, b); }
    static bool any(uint8x16_t bytes) noexcept { return vmaxvq_u8(bytes) != 0; }
    static void turn(std::uint32_t integer, const std::byte* from, std::size_t size, std::byte* to) noexcept {
        for (; size >= 16; size -= 16, from += 16, to += 16) {
            const auto bytes = load(from);
            store(to, integer == 2 ? vrev16q_u8(bytes) : integer == 4 ? vrev32q_u8(bytes) : vrev64q_u8(bytes));
        }
        turn_portable(integer, from, size, to);
    }
};

}  // namespace

void write_records_neon(const RecordPlan& plan, const std::byte* objects, std::size_t count, std::byte* wire) noexcept {
    write_narrow<Neon>(plan, objects, count, wire);
}

std::size_t read_records_neon(const RecordPlan& plan, const std::byte* wire, std::size_t count,
                              std::byte* objects) noexcept {
    return read_narrow<Neon>(plan, wire, count, objects);
}

}  // namespace weir::serial
#endif
