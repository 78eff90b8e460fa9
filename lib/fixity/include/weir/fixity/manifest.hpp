// SPDX-License-Identifier: Apache-2.0
// Lists of files and their sums, in the forms that people have: written and read. docs/formats/manifest.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.hpp"
#include "weir/digest/digest.hpp"
#include "weir/fixity/block_map.hpp"

namespace weir::fixity {

enum class Format {
    bsd,       // ADLER32 (name) = 0123abcd: names its algorithm, one line a sum; the default
    gnu,       // 0123abcd  name: one algorithm, which a reader has to know or guess
    sfv,       // name 0123abcd: crc32
    cksum,     // 4294967295 1234 name: POSIX cksum
    hashdeep,  // 1234,md5,sha256,name below a header
    json,      // our document
    csv,       // a,3,024d0127 below path,size,adler32 (RFC 4180)
    xrootd,    // 024d0127 name, as xrdadler32 and xrdcrc32c print it; one algorithm; read as gnu
};
[[nodiscard]] const char* name(Format format) noexcept;

/// One file as a manifest has it.
struct ManifestEntry {
    std::string name;
    std::vector<digest::Digest> sums;    // all of them must be the file's
    std::vector<digest::Digest> one_of;  // the algorithm is not stated: one of them must be
    std::optional<std::uint64_t> size;
    BlockMap blocks;
    std::uint64_t line = 0;  // where it stands, from 1; of JSON: the number of the file

    bool operator==(const ManifestEntry&) const = default;
};

/// "CRC32C", "XXH128", ...: as the tools that have the algorithm name it.
[[nodiscard]] std::string_view tag_of(digest::Algorithm algorithm) noexcept;
/// Ours and those of other tools, in any case.
[[nodiscard]] std::optional<digest::Algorithm> algorithm_of_tag(std::string_view tag) noexcept;

}  // namespace weir::fixity
