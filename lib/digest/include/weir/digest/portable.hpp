// SPDX-License-Identifier: Apache-2.0
// A second opinion: every sum also by the plainest code there is, which shares no kernel with the fast one. adler32,
// the CRCs, md5, the sha family, blake2b and blake3 by our portable kernels; xxHash and HighwayHash by the scalar code
// of their headers, compiled here. Several times slower.
#pragma once

#include "weir/digest/summer.hpp"

namespace weir::digest {

/// Of any algorithm.
[[nodiscard]] std::unique_ptr<Engine> make_portable_engine(Algorithm algorithm);

}  // namespace weir::digest
