// SPDX-License-Identifier: Apache-2.0
// The known-answer test at start. The answers were made by other programs (zlib, and CRCs that go bit by bit;
// test/vectors has the script and many more). Each sum is also made in two parts that begin at odd places, so
// that loops, rests and continuation are all run.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "weir/base/assert.hpp"
#include "weir/checksum/kernels.hpp"

namespace weir::checksum {
namespace {

struct Sample {
    std::string_view name;
    std::vector<std::byte> data;
};

std::array<Sample, 3> samples() {
    std::vector<std::byte> noise(4109);
    std::uint32_t state = 1;
    for (auto& byte : noise) byte = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24);
    const auto digits = as_data("123456789");
    return {Sample{"the digits 1 to 9", {digits.begin(), digits.end()}},
            Sample{"5553 bytes of 0xff", std::vector(5553, std::byte{0xff})},
            Sample{"4109 pseudo-random bytes", std::move(noise)}};
}

struct KnownSums {
    std::string_view algorithm;
    std::uint64_t start;
    std::array<std::uint64_t, 3> of_samples;
};

constexpr KnownSums known_sums[] = {
    {"adler32", 1, {0x091e01de, 0x8e299c8b, 0x048af5d9}},
    {"crc32", 0, {0xcbf43926, 0x1311970e, 0x3191ed58}},
    {"crc32c", 0, {0xe3069283, 0x3b1668bf, 0xe15b0ddd}},
    {"cksum", 0, {0x89a1897f, 0x11dd27f3, 0x03c280d9}},  // running values
    {"crc64-xz", 0, {0x995dc9bbdf1939fa, 0xd962b492ec0dc112, 0xc2e093512975832e}},
    {"crc64-nvme", 0, {0xae8b14860a799888, 0x6916ad16a86038ac, 0xf16f298280d5985f}},
    {"crc64-ecma182", 0, {0x6c40df5f0b497347, 0xcfba37809fab27f3, 0x4bf6d2794f24c65a}},
};

struct KnownProducts {
    std::string_view algorithm;
    struct {
        std::uint64_t a, b, product;
    } products[3];  // the last factor a is 1
};

constexpr std::uint64_t mixed_a = 0x123456789abcdef0;
constexpr std::uint64_t mixed_b = 0x0fedcba987654321;
constexpr std::uint64_t full = ~std::uint64_t{0};
constexpr std::uint64_t top = std::uint64_t{1} << 63;

constexpr KnownProducts known_products[] = {
    {"crc32",
     {{0x12345678, 0x9abcdef0, 0xaa4f5316},
      {0xffffffff, 0xffffffff, 0x3e7895e8},
      {0x80000000, 0xdeadbeef, 0xdeadbeef}}},
    {"crc32c",
     {{0x12345678, 0x9abcdef0, 0x30370bb3},
      {0xffffffff, 0xffffffff, 0x8ce1a0d5},
      {0x80000000, 0xdeadbeef, 0xdeadbeef}}},
    {"cksum",
     {{0x12345678, 0x9abcdef0, 0x143adbae}, {0xffffffff, 0xffffffff, 0x17a91e7c}, {1, 0xdeadbeef, 0xdeadbeef}}},
    {"crc64-xz", {{mixed_a, mixed_b, 0xb3069ead6c1202f5}, {full, full, 0xdbb3a2467cfc8c80}, {top, mixed_b, mixed_b}}},
    {"crc64-nvme", {{mixed_a, mixed_b, 0x885c91bc133abcf9}, {full, full, 0xe4fd9749af6d900f}, {top, mixed_b, mixed_b}}},
    {"crc64-ecma182",
     {{mixed_a, mixed_b, 0xb0c043cefad3deff}, {full, full, 0x01313f3e6245cddb}, {1, mixed_b, mixed_b}}},
};

template <class Known, std::size_t count>
const Known& known_of(const Known (&table)[count], std::string_view algorithm) noexcept {
    const auto* const found = std::ranges::find(table, algorithm, &Known::algorithm);
    WEIR_ASSERT(found != std::end(table));
    return *found;
}

template <class Word>
std::unexpected<Error> wrong(std::string_view algorithm, std::string_view kernel, std::string_view sample, Word is,
                             Word should_be) {
    constexpr int digits = 2 * sizeof(Word);
    return fail(Errc::corrupt,
                fmt::format("self-test of {} kernel \"{}\": {} give {:0{}x} instead of {:0{}x}; the build or the "
                            "processor is broken, store nothing with it",
                            algorithm, kernel, sample, is, digits, should_be, digits));
}

template <class Word>
using SumOf = Word(ConstData, Word) noexcept;
template <class Word>
using ProductOf = Word(Word, Word) noexcept;

template <class Word>
Result<> test_sums(std::string_view algorithm, std::span<const Kernel<SumOf<Word>>> kernels,
                   const CpuFeatures& features) {
    const auto& known = known_of(known_sums, algorithm);
    const auto start = static_cast<Word>(known.start);
    const auto all = samples();
    for (std::size_t i = 0; i < all.size(); ++i) {
        const ConstData data = all[i].data;
        const auto right = static_cast<Word>(known.of_samples[i]);
        for (const auto& kernel : kernels) {
            if (!kernel.usable(features)) continue;
            const Word whole = kernel.run(data, start);
            if (whole != right) return wrong(algorithm, kernel.name, all[i].name, whole, right);
            const auto cut = data.size() / 3;
            const Word parts = kernel.run(data.subspan(cut), kernel.run(data.first(cut), start));
            if (parts != right) return wrong(algorithm, kernel.name, all[i].name, parts, right);
        }
    }
    // All samples in a row, often enough for the loops that only long data reach, also from a value; against the first
    // kernel, whose answers are known now.
    std::vector<std::byte> data;
    while (data.size() < 3 * 9000)
        for (const auto& sample : all) data.insert(data.end(), sample.data.begin(), sample.data.end());
    const auto& portable = kernels.front();
    if (!portable.usable(features)) return {};
    const auto cut = data.size() / 3;
    const Word before = portable.run(ConstData(data).first(cut), start);
    const Word right = portable.run(ConstData(data).subspan(cut), before);
    for (const auto& kernel : kernels) {
        if (!kernel.usable(features)) continue;
        const Word parts = kernel.run(ConstData(data).subspan(cut), kernel.run(ConstData(data).first(cut), start));
        if (parts != right)
            return wrong(algorithm, kernel.name, fmt::format("{} bytes of all samples", data.size()), parts, right);
    }
    return {};
}

template <class Word>
Result<> test_products(std::string_view algorithm, std::span<const Kernel<ProductOf<Word>>> kernels,
                       const CpuFeatures& features) {
    for (const auto& kernel : kernels) {
        if (!kernel.usable(features)) continue;
        for (const auto& [a, b, product] : known_of(known_products, algorithm).products) {
            const Word is = kernel.run(static_cast<Word>(a), static_cast<Word>(b));
            if (is != product)
                return wrong(fmt::format("{}-multiply", algorithm), kernel.name, fmt::format("{:x} and {:x}", a, b), is,
                             static_cast<Word>(product));
        }
    }
    return {};
}

}  // namespace

Result<> self_test_sums(std::string_view algorithm, std::span<const SumKernel> kernels, const CpuFeatures& features) {
    return test_sums<std::uint32_t>(algorithm, kernels, features);
}

Result<> self_test_sums(std::string_view algorithm, std::span<const Sum64Kernel> kernels, const CpuFeatures& features) {
    return test_sums<std::uint64_t>(algorithm, kernels, features);
}

Result<> self_test_products(std::string_view algorithm, std::span<const MultiplyKernel> kernels,
                            const CpuFeatures& features) {
    return test_products<std::uint32_t>(algorithm, kernels, features);
}

Result<> self_test_products(std::string_view algorithm, std::span<const Multiply64Kernel> kernels,
                            const CpuFeatures& features) {
    return test_products<std::uint64_t>(algorithm, kernels, features);
}

Result<> self_test_copy(std::span<const CopyLinesKernel> kernels, const CpuFeatures& features) {
    alignas(64) std::array<std::byte, 512> to;
    std::array<std::byte, 513> from;
    std::uint32_t state = 7;
    for (auto& byte : from) byte = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24);
    for (const auto& kernel : kernels) {
        if (!kernel.usable(features)) continue;
        to.fill(std::byte{0});
        kernel.run(to.data(), from.data() + 1, to.size(), 0);
        for (std::size_t i = 0; i < to.size(); ++i) {
            if (to[i] != from[i + 1])
                return wrong("copy", kernel.name, fmt::format("byte {} of 512", i),
                             std::to_integer<std::uint32_t>(to[i]), std::to_integer<std::uint32_t>(from[i + 1]));
        }
    }
    return {};
}

Result<> self_test_copy_sums(std::string_view algorithm, std::span<const CopySumKernel> kernels, SumFunction* portable,
                             const CpuFeatures& features) {
    // Past where they begin to fetch ahead, and not a multiple of any turn.
    constexpr std::size_t size = 4096 + 1024 + 384;
    const std::vector<std::byte> from = [] {
        std::vector<std::byte> bytes(size + 1);
        std::uint32_t state = 7;
        for (auto& byte : bytes) byte = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24);
        return bytes;
    }();
    struct alignas(64) Target {
        std::array<std::byte, size> bytes;
    };
    const auto to = std::make_unique<Target>();
    const std::string name = fmt::format("copy and {}", algorithm);
    for (const auto& kernel : kernels) {
        if (!kernel.usable(features)) continue;
        for (const std::size_t part : {std::size_t{128}, std::size_t{1024}, size}) {
            to->bytes.fill(std::byte{0});
            const auto right = portable(ConstData(from).subspan(1, part), 0x1234'5678);
            const auto sum = kernel.run(to->bytes.data(), from.data() + 1, part, 0x1234'5678);
            if (sum != right) return wrong(name, kernel.name, fmt::format("{} bytes", part), sum, right);
            for (std::size_t i = 0; i < part; ++i) {
                if (to->bytes[i] != from[i + 1])
                    return wrong(name, kernel.name, fmt::format("byte {} of {}", i, part),
                                 std::to_integer<std::uint32_t>(to->bytes[i]),
                                 std::to_integer<std::uint32_t>(from[i + 1]));
            }
        }
    }
    return {};
}

Result<> self_test(const CpuFeatures& features) {
    for (const auto& known : known_sums) {
        if (auto done = self_test_of(known.algorithm, features); !done) return done;
    }
    return self_test_copy(non_temporal_kernels(), features);
}

Result<> self_test_of(std::string_view algorithm, const CpuFeatures& features) {
    const auto both = [&](auto sums, auto products) -> Result<> {
        if (auto done = self_test_sums(algorithm, sums, features); !done) return done;
        return self_test_products(algorithm, products, features);
    };
    if (algorithm == "crc32") return both(crc32_kernels(), crc32_multiply_kernels());
    if (algorithm == "cksum") return both(cksum_kernels(), cksum_multiply_kernels());
    if (algorithm == "crc64-xz") return both(crc64_xz_kernels(), crc64_xz_multiply_kernels());
    if (algorithm == "crc64-nvme") return both(crc64_nvme_kernels(), crc64_nvme_multiply_kernels());
    if (algorithm == "crc64-ecma182") return both(crc64_ecma182_kernels(), crc64_ecma182_multiply_kernels());
    if (algorithm == "crc32c") {
        if (auto done = both(crc32c_kernels(), crc32c_multiply_kernels()); !done) return done;
        return self_test_copy_sums(algorithm, copy_crc32c_kernels(), crc32c_kernels().front().run, features);
    }
    WEIR_ASSERT(algorithm == "adler32");
    if (auto done = self_test_sums(algorithm, adler32_kernels(), features); !done) return done;
    return self_test_copy_sums(algorithm, copy_adler32_kernels(), adler32_kernels().front().run, features);
}

}  // namespace weir::checksum
