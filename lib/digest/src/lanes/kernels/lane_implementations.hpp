// SPDX-License-Identifier: Apache-2.0
// The functions of the files that bind md5, sha1 and sha256 to a library or an instruction set, for the lists in
// lane_kernels.cpp. Each may only be called on a processor with the features that its line in the list requires.
#pragma once

#include "lanes/lane_kernels.hpp"

namespace weir::digest {

LaneFunction md5_openssl, sha1_openssl, sha256_openssl;
LaneFunction md5_portable, sha1_portable, sha256_portable;
#if defined(__x86_64__)
LaneFunction md5_avx2_8, md5_avx2_16, md5_avx2_24, sha1_avx2, sha256_avx2;
LaneFunction md5_avx512_16, md5_avx512_32, sha1_avx512, sha256_avx512;
LaneFunction sha1_sha_2, sha1_sha_4, sha256_sha_2, sha256_sha_3;
#endif

}  // namespace weir::digest
