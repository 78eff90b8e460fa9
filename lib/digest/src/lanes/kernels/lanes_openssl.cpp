// SPDX-License-Identifier: Apache-2.0
// One stream by OpenSSL, from a state and into a state. The functions that show their state are marked as
// deprecated since 3.0, for the sake of applications that should leave the choice of an implementation to
// OpenSSL; the others (openssl_engine.cpp) cannot take over a stream that began in a lane. Where there is no OpenSSL,
// the portable kernel takes the one stream.
#include <algorithm>
#include <array>

#include "engines/libcrypto.hpp"
#include "lanes/kernels/lane_implementations.hpp"

namespace weir::digest {
namespace {

/// `run` takes `lanes` streams; here all of them are the one.
template <std::size_t lanes, std::size_t words>
void in_one_lane(LaneFunction& run, std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    std::array<const std::byte*, lanes> all_data;
    all_data.fill(data[0]);
    std::array<std::uint32_t, words * lanes> all_states;
    for (std::size_t i = 0; i < all_states.size(); ++i) all_states[i] = state[i / lanes];
    run(all_states.data(), all_data.data(), blocks);
    for (std::size_t word = 0; word < words; ++word) state[word] = all_states[word * lanes];
}

}  // namespace

void md5_openssl(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    if (!load_libcrypto()) return in_one_lane<12, 4>(md5_portable, state, data, blocks);
    MD5_CTX context;
    MD5_Init(&context);
    context.A = state[0], context.B = state[1], context.C = state[2], context.D = state[3];
    MD5_Update(&context, data[0], blocks * MD5_CBLOCK);
    state[0] = context.A, state[1] = context.B, state[2] = context.C, state[3] = context.D;
}

void sha1_openssl(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    if (!load_libcrypto()) return in_one_lane<4, 5>(sha1_portable, state, data, blocks);
    SHA_CTX context;
    SHA1_Init(&context);
    context.h0 = state[0], context.h1 = state[1], context.h2 = state[2], context.h3 = state[3], context.h4 = state[4];
    SHA1_Update(&context, data[0], blocks * SHA_CBLOCK);
    state[0] = context.h0, state[1] = context.h1, state[2] = context.h2, state[3] = context.h3, state[4] = context.h4;
}

void sha256_openssl(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    if (!load_libcrypto()) return in_one_lane<4, 8>(sha256_portable, state, data, blocks);
    SHA256_CTX context;
    SHA256_Init(&context);
    std::copy_n(state, 8, context.h);
    SHA256_Update(&context, data[0], blocks * SHA256_CBLOCK);
    std::copy_n(context.h, 8, state);
}

}  // namespace weir::digest
