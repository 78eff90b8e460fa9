// SPDX-License-Identifier: Apache-2.0
// Who can compute what: our implementations and those of the libraries that are installed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/base/result.hpp"
#include "weir/digest/algorithm.hpp"

namespace weir::app {

struct SumCandidate {
    digest::Algorithm algorithm;
    std::string implementation;  // "weir", "zlib", "isa-l", ...
    bool peer;
    /// Sums as many pieces, of which `data` is the first and each next begins `step` bytes further on (0: the same
    /// again), and returns something that depends on the last sum. The calls stand in one loop, so that 16 bytes are
    /// measured with what their call costs and nothing else.
    std::function<std::uint64_t(ConstData data, std::uint64_t times, std::size_t step)> repeat;
    /// It should be that of ours, too; not every peer's result has the same form (false: not compared).
    bool comparable = true;

    [[nodiscard]] std::uint64_t run(ConstData data) const { return repeat(data, 1, 0); }
};

/// A library by its file, instead of the one that is installed: "libdeflate", "/opt/new/libdeflate.so".
struct PeerFile {
    std::string name, file;
};

/// Of every algorithm ours first (adler32 and the CRCs through the C interface, as users call them), then the
/// peers that are installed or given. Errc::usage for a name that is none of zlib, zlib-ng, libdeflate, isa-l, xxhash,
/// openssl, and for a file that cannot be loaded or has none of the functions.
[[nodiscard]] Result<std::vector<SumCandidate>> sum_candidates(const std::vector<PeerFile>& given = {});

}  // namespace weir::app
