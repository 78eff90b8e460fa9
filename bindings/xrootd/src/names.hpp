// SPDX-License-Identifier: Apache-2.0
// What XRootD calls a checksum, and which of ours that is.
#pragma once

#include <optional>
#include <string_view>

#include "weir/digest/algorithm.hpp"

namespace weir::xrootd {

/// A sum, and how its value is handed to XRootD.
struct Meaning {
    digest::Algorithm algorithm;
    bool bytes_reversed = false;  // the least significant byte first

    bool operator==(const Meaning&) const = default;
};

/// `name` as in a ckslib line; `parameters` is the rest of that line. Nothing when we have no such checksum.
[[nodiscard]] std::optional<Meaning> meaning_of(std::string_view name, std::string_view parameters) noexcept;

}  // namespace weir::xrootd
