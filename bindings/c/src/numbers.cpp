// SPDX-License-Identifier: Apache-2.0
// adler32 and the CRCs as numbers, and made while copying. The sums call their kernels without a function between,
// which would be noticed with 16 bytes.
#include "values.hpp"
#include "weir/checksum/adler32.hpp"
#include "weir/checksum/chosen.hpp"
#include "weir/checksum/cksum.hpp"
#include "weir/checksum/copy_and_sum.hpp"
#include "weir/checksum/crc32.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/checksum/crc64.hpp"

using namespace weir;
using c::data_of;
using checksum::ChosenKernel;

namespace {

MutableData target(void* to, std::size_t size) noexcept { return {static_cast<std::byte*>(to), size}; }

checksum::Stores kind(int stores) noexcept {
    return stores == WEIR_STORES_NON_TEMPORAL ? checksum::Stores::non_temporal : checksum::Stores::ordinary;
}

}  // namespace

uint32_t weir_adler32(const void* data, size_t size, uint32_t value) {
    return ChosenKernel<checksum::adler32_kernels>::run(data_of(data, size), value);
}
uint32_t weir_crc32(const void* data, size_t size, uint32_t value) {
    return ChosenKernel<checksum::crc32_kernels>::run(data_of(data, size), value);
}
uint32_t weir_crc32c(const void* data, size_t size, uint32_t value) {
    return ChosenKernel<checksum::crc32c_kernels>::run(data_of(data, size), value);
}
uint64_t weir_crc64_xz(const void* data, size_t size, uint64_t value) {
    return ChosenKernel<checksum::crc64_xz_kernels>::run(data_of(data, size), value);
}
uint64_t weir_crc64_nvme(const void* data, size_t size, uint64_t value) {
    return ChosenKernel<checksum::crc64_nvme_kernels>::run(data_of(data, size), value);
}
uint64_t weir_crc64_ecma182(const void* data, size_t size, uint64_t value) {
    return ChosenKernel<checksum::crc64_ecma182_kernels>::run(data_of(data, size), value);
}
uint32_t weir_cksum(const void* data, size_t size) { return checksum::cksum(data_of(data, size)); }

uint32_t weir_adler32_combine(uint32_t a, uint32_t b, uint64_t length_of_b) {
    return checksum::adler32_combine(a, b, length_of_b);
}
uint32_t weir_crc32_combine(uint32_t a, uint32_t b, uint64_t length_of_b) {
    return checksum::crc32_combine(a, b, length_of_b);
}
uint32_t weir_crc32c_combine(uint32_t a, uint32_t b, uint64_t length_of_b) {
    return checksum::crc32c_combine(a, b, length_of_b);
}
uint64_t weir_crc64_xz_combine(uint64_t a, uint64_t b, uint64_t length_of_b) {
    return checksum::crc64_xz_combine(a, b, length_of_b);
}
uint64_t weir_crc64_nvme_combine(uint64_t a, uint64_t b, uint64_t length_of_b) {
    return checksum::crc64_nvme_combine(a, b, length_of_b);
}
uint64_t weir_crc64_ecma182_combine(uint64_t a, uint64_t b, uint64_t length_of_b) {
    return checksum::crc64_ecma182_combine(a, b, length_of_b);
}

uint32_t weir_copy_adler32(void* to, const void* from, size_t size, uint32_t value, int stores) {
    return checksum::copy_adler32(target(to, size), data_of(from, size), value, kind(stores));
}
uint32_t weir_copy_crc32c(void* to, const void* from, size_t size, uint32_t value, int stores) {
    return checksum::copy_crc32c(target(to, size), data_of(from, size), value, kind(stores));
}
