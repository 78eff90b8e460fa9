// SPDX-License-Identifier: Apache-2.0
// The parts before the target's first whole line and behind its last are copied by memcpy; between them every store
// fills a line. Where a kernel stores the bytes that it has just summed, the bytes are loaded once; elsewhere
// blocks are summed and then copied, the second time from the cache.
#include "weir/checksum/copy_and_sum.hpp"

#include <algorithm>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "implementations.hpp"
#include "weir/base/assert.hpp"
#include "weir/checksum/adler32.hpp"
#include "weir/checksum/chosen.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/checksum/kernels.hpp"

namespace weir::checksum {
namespace {

constexpr std::size_t line_size = 64;
constexpr std::size_t unit_size = 128;  // of a CopySumKernel

/// Stores around the cache are not ordered with those that later publish the data: this orders them.
void order_stores() noexcept {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

/// Bytes before the first whole line of the target.
std::size_t before_line(MutableData to) noexcept {
    return std::min(to.size(), (line_size - reinterpret_cast<std::uintptr_t>(to.data()) % line_size) % line_size);
}

std::uint32_t copy_part(std::byte* to, ConstData from, std::uint32_t value, SumFunction* sum) noexcept {
    if (from.empty()) return value;
    std::memcpy(to, from.data(), from.size());
    return sum(from, value);
}

/// `from.size()` is a multiple of a line.
template <class Sum>
std::uint32_t in_blocks(std::byte* to, ConstData from, std::uint32_t value, Sum&& sum) noexcept {
    auto* const copy_lines = ChosenKernel<non_temporal_kernels>::function();
    while (!from.empty()) {
        const auto block = from.first(std::min(from.size(), copy_block_size));
        value = sum(block, value);
        copy_lines(to, block.data(), block.size(), from.size() - block.size());
        from = from.subspan(block.size());
        to += block.size();
    }
    return value;
}

std::uint32_t copy_and_sum(MutableData to, ConstData from, std::uint32_t value, Stores stores, SumFunction* sum,
                           CopySumFunction* stream) noexcept {
    WEIR_ASSERT(to.size() == from.size());
    if (stores == Stores::ordinary) {
        while (!from.empty()) {
            const auto block = from.first(std::min(from.size(), copy_block_size));
            value = sum(block, value);
            std::memcpy(to.data(), block.data(), block.size());
            from = from.subspan(block.size());
            to = to.subspan(block.size());
        }
        return value;
    }
    const auto head = before_line(to);
    const auto whole = (from.size() - head) / unit_size * unit_size;
    value = copy_part(to.data(), from.first(head), value, sum);
    if (whole != 0) {
        value = stream(to.data() + head, from.data() + head, whole, value);
        order_stores();
    }
    return copy_part(to.data() + head + whole, from.subspan(head + whole), value, sum);
}

}  // namespace

void copy_lines_portable(std::byte* to, const std::byte* from, std::size_t size, std::size_t /*behind*/) noexcept {
    if (size != 0) std::memcpy(to, from, size);
}

std::uint32_t copy_adler32_in_blocks(std::byte* to, const std::byte* from, std::size_t size,
                                     std::uint32_t value) noexcept {
    return in_blocks(to, {from, size}, value,
                     [](ConstData block, std::uint32_t start) { return adler32(block, start); });
}

std::uint32_t copy_crc32c_in_blocks(std::byte* to, const std::byte* from, std::size_t size,
                                    std::uint32_t value) noexcept {
    return in_blocks(to, {from, size}, value,
                     [](ConstData block, std::uint32_t start) { return crc32c(block, start); });
}

std::uint32_t copy_adler32(MutableData to, ConstData from, std::uint32_t value, Stores stores) noexcept {
    return copy_and_sum(to, from, value, stores, adler32, ChosenKernel<copy_adler32_kernels>::function());
}

std::uint32_t copy_crc32c(MutableData to, ConstData from, std::uint32_t value, Stores stores) noexcept {
    return copy_and_sum(to, from, value, stores, crc32c, ChosenKernel<copy_crc32c_kernels>::function());
}

void copy_only(MutableData to, ConstData from, Stores stores) noexcept {
    WEIR_ASSERT(to.size() == from.size());
    if (from.empty()) return;
    if (stores == Stores::ordinary) {
        std::memcpy(to.data(), from.data(), from.size());
        return;
    }
    const auto head = before_line(to);
    const auto lines = (from.size() - head) / line_size * line_size;
    std::memcpy(to.data(), from.data(), head);
    ChosenKernel<non_temporal_kernels>::run(to.data() + head, from.data() + head, lines, 0);
    order_stores();
    std::memcpy(to.data() + head + lines, from.data() + head + lines, from.size() - head - lines);
}

std::string_view non_temporal_name() noexcept {
    static const auto& kernel = ChosenKernel<non_temporal_kernels>::kernel();
    return kernel.name;
}

}  // namespace weir::checksum
