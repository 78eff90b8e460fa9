// SPDX-License-Identifier: Apache-2.0
// The attribute user.XrdCks.<algorithm>, in which XRootD keeps a file's sum, so that a server answers a
// checksum query without reading the file (layout: XrdCksData of XRootD; docs/formats/checksum-attribute.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "weir/base/clock.hpp"
#include "weir/base/file.hpp"

namespace weir::datafile {

/// Written only for a complete, closed file. Errc::unsupported when the file system keeps no attributes.
[[nodiscard]] Result<> write_adler32_attribute(const File& file, std::uint32_t adler32, WallTime now);

struct ChecksumAttribute {
    std::uint32_t adler32 = 0;
    bool current = false;  // made for the modification time that the file has now
};

/// Nothing when the file has none (or the file system keeps none). Errc::corrupt: it is not a valid one.
[[nodiscard]] Result<std::optional<ChecksumAttribute>> read_adler32_attribute(const File& file);

}  // namespace weir::datafile
