// SPDX-License-Identifier: Apache-2.0
// All kernels against each other, over any bytes cut anywhere: they agree, sums continue, parts join, and
// copies are exact.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "weir/base/assert.hpp"
#include "weir/base/endian.hpp"
#include "weir/checksum/adler32.hpp"
#include "weir/checksum/cksum.hpp"
#include "weir/checksum/copy_and_sum.hpp"
#include "weir/checksum/crc32.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/checksum/crc64.hpp"
#include "weir/checksum/kernels.hpp"

namespace {

using namespace weir;
using namespace weir::checksum;

template <class Word>
void check_sums(std::span<const Kernel<Word(ConstData, Word) noexcept>> kernels, ConstData data, std::size_t cut,
                Word start) {
    static const auto features = CpuFeatures::detect();
    const auto right = kernels.front().run(data, start);
    for (const auto& kernel : kernels) {
        if (!kernel.usable(features)) continue;
        WEIR_ASSERT(kernel.run(data, start) == right);
        WEIR_ASSERT(kernel.run(data.subspan(cut), kernel.run(data.first(cut), start)) == right);
    }
}

/// A CRC: its kernels agree, and the sums of two parts join to that of the whole.
template <class Word>
void check_crc(std::span<const Kernel<Word(ConstData, Word) noexcept>> kernels, Word (*sum)(ConstData, Word) noexcept,
               Word (*combine)(Word, Word, std::uint64_t) noexcept, ConstData data, std::size_t cut, Word start) {
    check_sums<Word>(kernels, data, cut, start);
    const auto a = data.first(cut);
    const auto b = data.subspan(cut);
    WEIR_ASSERT(combine(sum(a, start), sum(b, 0), b.size()) == sum(data, start));
}

/// Products and lengths of any bits: kernels agree, and two shifts are one.
template <class Word>
void check_products(std::span<const Kernel<Word(Word, Word) noexcept>> kernels,
                    Word (*combine)(Word, Word, std::uint64_t) noexcept, Word a, Word b, std::uint64_t length) {
    static const auto features = CpuFeatures::detect();
    const auto right = kernels.front().run(a, b);
    for (const auto& kernel : kernels) WEIR_ASSERT(!kernel.usable(features) || kernel.run(a, b) == right);
    const std::uint64_t first = length / 3;
    WEIR_ASSERT(combine(combine(a, 0, first), b, length - first) == combine(a, b, length));
}

void check_cksum(ConstData data, std::size_t cut, std::uint32_t running, std::uint64_t length) {
    const auto a = data.first(cut);
    const auto b = data.subspan(cut);
    WEIR_ASSERT(cksum_combine(cksum(a), a.size(), cksum(b), b.size()) == cksum(data));
    WEIR_ASSERT(cksum_running(cksum_finish(running, length), length) == running);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size < 8) return 0;
    // The head decides where to cut, where the target begins, and how often the rest is repeated: long runs
    // of large bytes are what fills lanes over.
    const std::size_t repeat = bytes[3] % 16 == 0 ? std::size_t{1} + bytes[4] * 8U : 1;
    const auto head = std::as_bytes(std::span(bytes, size)).subspan(8);
    std::vector<std::byte> message;
    for (std::size_t i = 0; i < repeat && message.size() < 1'000'000; ++i)
        message.insert(message.end(), head.begin(), head.end());
    const ConstData data = message;
    const std::size_t cut = data.empty() ? 0 : (bytes[0] | std::size_t{bytes[1]} << 8) % (data.size() + 1);
    const std::uint32_t start = adler32(std::as_bytes(std::span(bytes, 8)));

    check_sums<std::uint32_t>(adler32_kernels(), data, cut, start);
    const auto a = data.first(cut);
    const auto b = data.subspan(cut);
    WEIR_ASSERT(adler32_combine(adler32(a), adler32(b), b.size()) == adler32(data));

    const std::uint64_t wide = load_little<std::uint64_t>(std::as_bytes(std::span(bytes, size)));
    check_crc<std::uint32_t>(crc32_kernels(), crc32, crc32_combine, data, cut, start);
    check_crc<std::uint32_t>(crc32c_kernels(), crc32c, crc32c_combine, data, cut, start);
    check_crc<std::uint32_t>(cksum_kernels(), cksum_add, cksum_combine_running, data, cut, start);
    check_crc<std::uint64_t>(crc64_xz_kernels(), crc64_xz, crc64_xz_combine, data, cut, wide);
    check_crc<std::uint64_t>(crc64_nvme_kernels(), crc64_nvme, crc64_nvme_combine, data, cut, wide);
    check_crc<std::uint64_t>(crc64_ecma182_kernels(), crc64_ecma182, crc64_ecma182_combine, data, cut, wide);
    check_cksum(data, cut, start, wide);

    const std::uint64_t length = crc64_xz(data);
    const auto low = static_cast<std::uint32_t>(length);
    check_products<std::uint32_t>(crc32_multiply_kernels(), crc32_combine, start, low, wide);
    check_products<std::uint32_t>(crc32c_multiply_kernels(), crc32c_combine, start, low, wide);
    check_products<std::uint32_t>(cksum_multiply_kernels(), cksum_combine_running, start, low, wide);
    check_products<std::uint64_t>(crc64_xz_multiply_kernels(), crc64_xz_combine, wide, length, wide);
    check_products<std::uint64_t>(crc64_nvme_multiply_kernels(), crc64_nvme_combine, wide, length, wide);
    check_products<std::uint64_t>(crc64_ecma182_multiply_kernels(), crc64_ecma182_combine, wide, length, wide);

    std::vector<std::byte> target(data.size() + 64);
    const auto to = MutableData(target).subspan(bytes[2] % 64, data.size());
    const auto stores = (bytes[2] & 64) != 0 ? Stores::non_temporal : Stores::ordinary;
    WEIR_ASSERT(copy_adler32(to, data, start, stores) == adler32(data, start));
    WEIR_ASSERT(std::ranges::equal(to, data));
    WEIR_ASSERT(copy_crc32c(to, data, start, stores) == crc32c(data, start));
    WEIR_ASSERT(std::ranges::equal(to, data));
    return 0;
}
