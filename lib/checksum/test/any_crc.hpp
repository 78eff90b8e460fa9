// SPDX-License-Identifier: Apache-2.0
// All CRCs with one face of 64 bits, so that one suite runs over every kernel of every list.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "samples.hpp"
#include "weir/checksum/cksum.hpp"
#include "weir/checksum/crc32.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/checksum/crc64.hpp"
#include "weir/checksum/kernels.hpp"
#include "williams.hpp"

namespace weir::checksum::test {

using AnySum = std::function<std::uint64_t(ConstData, std::uint64_t)>;
using AnyProduct = std::function<std::uint64_t(std::uint64_t, std::uint64_t)>;

/// Values of cksum are running ones here.
struct AnyCrc {
    std::string name;
    Williams definition;
    AnySum sum;
    std::function<std::uint64_t(std::uint64_t, std::uint64_t, std::uint64_t)> combine;
    std::function<AnyProduct(std::uint64_t length)> combiner;
    std::string kernel_name;
    std::vector<std::pair<std::string, AnySum>> kernels;  // that this processor can run; the portable one first
    std::vector<std::pair<std::string, AnyProduct>> products;

    [[nodiscard]] std::uint64_t word(std::uint64_t bits) const { return bits >> (64 - definition.width); }
};

inline std::ostream& operator<<(std::ostream& out, const AnyCrc& crc) { return out << crc.name; }

template <class Word, class Combiner>
AnyCrc any_crc(std::string name, const Williams& definition, Word (*sum)(ConstData, Word) noexcept,
               Word (*combine)(Word, Word, std::uint64_t) noexcept, Combiner combiner, std::string_view kernel_name,
               std::span<const Kernel<Word(ConstData, Word) noexcept>> kernels,
               std::span<const Kernel<Word(Word, Word) noexcept>> products) {
    AnyCrc crc{std::move(name), definition, {}, {}, {}, std::string(kernel_name), {}, {}};
    crc.sum = [=](ConstData data, std::uint64_t value) { return sum(data, static_cast<Word>(value)); };
    crc.combine = [=](std::uint64_t a, std::uint64_t b, std::uint64_t length) {
        return combine(static_cast<Word>(a), static_cast<Word>(b), length);
    };
    crc.combiner = [=](std::uint64_t length) -> AnyProduct {
        const auto join = combiner(length);
        return [=](std::uint64_t a, std::uint64_t b) { return join(static_cast<Word>(a), static_cast<Word>(b)); };
    };
    for (const auto& kernel : usable(kernels))
        crc.kernels.emplace_back(kernel.name, [run = kernel.run](ConstData data, std::uint64_t value) {
            return run(data, static_cast<Word>(value));
        });
    for (const auto& kernel : usable(products))
        crc.products.emplace_back(kernel.name, [run = kernel.run](std::uint64_t a, std::uint64_t b) {
            return run(static_cast<Word>(a), static_cast<Word>(b));
        });
    return crc;
}

inline std::vector<AnyCrc> every_crc() {
    constexpr std::uint64_t all32 = 0xffffffff;
    constexpr std::uint64_t all64 = ~std::uint64_t{0};
    const auto crc64 = [](Crc64 variety) {
        return [=](std::uint64_t length) { return Crc64Combiner(variety, length); };
    };
    return {
        any_crc(
            "crc32", {32, 0x04c11db7, true, all32}, crc32, crc32_combine,
            [](std::uint64_t length) { return Crc32Combiner(length); }, crc32_name(), crc32_kernels(),
            crc32_multiply_kernels()),
        any_crc(
            "crc32c", {32, 0x1edc6f41, true, all32}, crc32c, crc32c_combine,
            [](std::uint64_t length) { return Crc32cCombiner(length); }, crc32c_name(), crc32c_kernels(),
            crc32c_multiply_kernels()),
        any_crc(
            "cksum", {32, 0x04c11db7, false, 0}, cksum_add, cksum_combine_running,
            [](std::uint64_t length) { return CksumCombiner(length); }, cksum_name(), cksum_kernels(),
            cksum_multiply_kernels()),
        any_crc("crc64-xz", {64, 0x42f0e1eba9ea3693, true, all64}, crc64_xz, crc64_xz_combine, crc64(Crc64::xz),
                crc64_xz_name(), crc64_xz_kernels(), crc64_xz_multiply_kernels()),
        any_crc("crc64-nvme", {64, 0xad93d23594c93659, true, all64}, crc64_nvme, crc64_nvme_combine, crc64(Crc64::nvme),
                crc64_nvme_name(), crc64_nvme_kernels(), crc64_nvme_multiply_kernels()),
        any_crc("crc64-ecma182", {64, 0x42f0e1eba9ea3693, false, 0}, crc64_ecma182, crc64_ecma182_combine,
                crc64(Crc64::ecma182), crc64_ecma182_name(), crc64_ecma182_kernels(), crc64_ecma182_multiply_kernels()),
    };
}

inline std::string case_name(const ::testing::TestParamInfo<AnyCrc>& crc) {
    std::string name = crc.param.name;
    std::erase(name, '-');
    return name;
}

}  // namespace weir::checksum::test
