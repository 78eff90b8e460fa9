// SPDX-License-Identifier: Apache-2.0
// Whether selections in Python can be tested on this machine.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace weir::selection::test {

/// Why they cannot, for GTEST_SKIP; nothing: they can.
inline std::optional<std::string> why_no_python() {
    static const bool numpy = std::system("/usr/bin/python3 -c 'import numpy' > /dev/null 2>&1") == 0;
    if (numpy) return std::nullopt;
    return "NOT TESTED: selections in Python: /usr/bin/python3 has no NumPy; install python3-numpy";
}

}  // namespace weir::selection::test
