// SPDX-License-Identifier: Apache-2.0
// Sums as the catalogue keeps them: lower-case hex with leading zeros. Other systems write them with
// capitals or without the zeros (XRootD and EOS both have), so that two sums are compared as numbers.
#pragma once

#include <string>
#include <string_view>

#include "weir/base/result.hpp"

namespace weir::catalogue {

/// "ABC" of adler32 becomes "00000abc". Error: Errc::usage when it is not hex, or longer than the sum can be.
[[nodiscard]] Result<std::string> normal_sum(std::string_view algorithm, std::string_view hex);

/// The same number, whatever capitals and leading zeros; false when either is not hex.
[[nodiscard]] bool same_sum(std::string_view a, std::string_view b) noexcept;

}  // namespace weir::catalogue
