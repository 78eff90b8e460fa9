// SPDX-License-Identifier: Apache-2.0
#include "adler32/adler32_zlib.hpp"

#include <zlib.h>

namespace weir::checksum {

std::uint32_t adler32_zlib(ConstData data, std::uint32_t value) noexcept {
    if (data.empty()) return value;  // zlib takes a null pointer for a question about the start value
    return static_cast<std::uint32_t>(
        ::adler32_z(value, reinterpret_cast<const Bytef*>(data.data()), static_cast<z_size_t>(data.size())));
}

}  // namespace weir::checksum
