// SPDX-License-Identifier: Apache-2.0
// Bytes as an HTTP client takes them with Content-Encoding: gzip (RFC 1952).
#pragma once

#include <string>
#include <string_view>

namespace weir::page {

/// `level`: 1 (fast) to 9 (small).
[[nodiscard]] std::string gzipped(std::string_view bytes, int level);

}  // namespace weir::page
