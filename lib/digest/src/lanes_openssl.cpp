// SPDX-License-Identifier: Apache-2.0
// One stream by OpenSSL, from a state and into a state. The functions that show their state are marked as
// deprecated since 3.0, for the sake of applications that should leave the choice of an implementation to
// OpenSSL; the others (openssl_engine.cpp) cannot take over a stream that began in a lane.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/md5.h>
#include <openssl/sha.h>

#include <algorithm>

#include "lane_implementations.hpp"

namespace weir::digest {

void md5_openssl(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    MD5_CTX context;
    MD5_Init(&context);
    context.A = state[0], context.B = state[1], context.C = state[2], context.D = state[3];
    MD5_Update(&context, data[0], blocks * MD5_CBLOCK);
    state[0] = context.A, state[1] = context.B, state[2] = context.C, state[3] = context.D;
}

void sha1_openssl(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    SHA_CTX context;
    SHA1_Init(&context);
    context.h0 = state[0], context.h1 = state[1], context.h2 = state[2], context.h3 = state[3], context.h4 = state[4];
    SHA1_Update(&context, data[0], blocks * SHA_CBLOCK);
    state[0] = context.h0, state[1] = context.h1, state[2] = context.h2, state[3] = context.h3, state[4] = context.h4;
}

void sha256_openssl(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    SHA256_CTX context;
    SHA256_Init(&context);
    std::copy_n(state, 8, context.h);
    SHA256_Update(&context, data[0], blocks * SHA256_CBLOCK);
    std::copy_n(context.h, 8, state);
}

}  // namespace weir::digest
