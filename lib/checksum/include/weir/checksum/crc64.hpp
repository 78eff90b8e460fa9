// SPDX-License-Identifier: Apache-2.0
// Three sums of 64 bits that are all called crc64 somewhere:
//
//   variety   used by            polynomial           bits       inverted        "123456789"
//   xz        xz, Go's ECMA      0x42f0e1eba9ea3693   reflected  before, after   0x995dc9bbdf1939fa
//   nvme      NVMe, Amazon S3    0xad93d23594c93659   reflected  before, after   0xae8b14860a799888
//   ecma182   EOS, ECMA-182      0x42f0e1eba9ea3693   natural    no              0x6c40df5f0b497347
#pragma once

#include <cstdint>
#include <string_view>

#include "weir/base/data.hpp"

namespace weir::checksum {

/// The sum of `data`, continuing from `value`: f(b, f(a)) == f(a followed by b).
[[nodiscard]] std::uint64_t crc64_xz(ConstData data, std::uint64_t value = 0) noexcept;
[[nodiscard]] std::uint64_t crc64_nvme(ConstData data, std::uint64_t value = 0) noexcept;
[[nodiscard]] std::uint64_t crc64_ecma182(ConstData data, std::uint64_t value = 0) noexcept;

/// The sum of a followed by b, from their sums and the length of b.
[[nodiscard]] std::uint64_t crc64_xz_combine(std::uint64_t a, std::uint64_t b, std::uint64_t length_of_b) noexcept;
[[nodiscard]] std::uint64_t crc64_nvme_combine(std::uint64_t a, std::uint64_t b, std::uint64_t length_of_b) noexcept;
[[nodiscard]] std::uint64_t crc64_ecma182_combine(std::uint64_t a, std::uint64_t b, std::uint64_t length_of_b) noexcept;

/// The kernel that this process uses: "vpclmul-avx2", ...
[[nodiscard]] std::string_view crc64_xz_name() noexcept;
[[nodiscard]] std::string_view crc64_nvme_name() noexcept;
[[nodiscard]] std::string_view crc64_ecma182_name() noexcept;

enum class Crc64 { xz, nvme, ecma182 };

/// The combine of one variety prepared for one length (blocks of a file, say): one multiplication a call.
class Crc64Combiner {
public:
    Crc64Combiner(Crc64 variety, std::uint64_t length_of_b) noexcept;

    [[nodiscard]] std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const noexcept {
        return multiply_(a, power_) ^ b;
    }

private:
    std::uint64_t (*multiply_)(std::uint64_t, std::uint64_t) noexcept;
    std::uint64_t power_;  // x^(8 * length_of_b) modulo the polynomial
};

}  // namespace weir::checksum
