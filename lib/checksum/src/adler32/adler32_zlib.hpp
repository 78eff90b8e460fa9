// SPDX-License-Identifier: Apache-2.0
// zlib's adler32 in the form of our kernels: the loop that other programs use, for comparison.
#pragma once

#include <cstdint>

#include "weir/base/data.hpp"

namespace weir::checksum {

std::uint32_t adler32_zlib(ConstData data, std::uint32_t value) noexcept;

}  // namespace weir::checksum
