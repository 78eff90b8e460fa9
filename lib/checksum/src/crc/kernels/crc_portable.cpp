// SPDX-License-Identifier: Apache-2.0
// The portable kernel of every CRC. Sixteen tables of 32 bits, or eight of 64, take half of a first-level
// cache; with more of them the data would no longer fit beside.
#include "crc/crc_field.hpp"
#include "crc/crc_tables.hpp"
#include "implementations.hpp"

namespace weir::checksum {

template <CrcSpec spec>
CrcWord<spec> crc_portable(ConstData data, CrcWord<spec> value) noexcept {
    return crc_by_tables < spec, spec.width == 32 ? 16 : 8 > (data, value);
}

template <CrcSpec spec>
CrcWord<spec> crc_multiply_portable(CrcWord<spec> a, CrcWord<spec> b) noexcept {
    return CrcField<spec>::multiply(a, b);
}

template std::uint32_t crc_portable<crc32_spec>(ConstData, std::uint32_t) noexcept;
template std::uint32_t crc_portable<crc32c_spec>(ConstData, std::uint32_t) noexcept;
template std::uint32_t crc_portable<cksum_spec>(ConstData, std::uint32_t) noexcept;
template std::uint64_t crc_portable<crc64_xz_spec>(ConstData, std::uint64_t) noexcept;
template std::uint64_t crc_portable<crc64_nvme_spec>(ConstData, std::uint64_t) noexcept;
template std::uint64_t crc_portable<crc64_ecma182_spec>(ConstData, std::uint64_t) noexcept;

template std::uint32_t crc_multiply_portable<crc32_spec>(std::uint32_t, std::uint32_t) noexcept;
template std::uint32_t crc_multiply_portable<crc32c_spec>(std::uint32_t, std::uint32_t) noexcept;
template std::uint32_t crc_multiply_portable<cksum_spec>(std::uint32_t, std::uint32_t) noexcept;
template std::uint64_t crc_multiply_portable<crc64_xz_spec>(std::uint64_t, std::uint64_t) noexcept;
template std::uint64_t crc_multiply_portable<crc64_nvme_spec>(std::uint64_t, std::uint64_t) noexcept;
template std::uint64_t crc_multiply_portable<crc64_ecma182_spec>(std::uint64_t, std::uint64_t) noexcept;

}  // namespace weir::checksum
