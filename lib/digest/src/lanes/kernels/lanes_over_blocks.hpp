// SPDX-License-Identifier: Apache-2.0
// md5, sha1 and sha256 of many streams, each in a lane of a vector: the code that the three share. Included in the
// anonymous namespace of a file that binds them to an instruction set, below WEIR_TARGET_BEGIN.
//
// Hash<Set, groups> has words (of the state), order (of bytes in a word), Vector, and rounds(state, message),
// which takes one block of each stream into the state and may spoil the message. A group is one vector
// of streams; several groups side by side fill the time in which one waits for itself.
#pragma once

#include "lanes/kernels/vector_words.hpp"

template <class Hash, class Set, std::size_t groups>
void over_blocks(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    constexpr std::size_t lanes = Set::width;
    using Vector = Words<lanes>;
    Vector sum[groups][Hash::words];
    for (std::size_t word = 0; word < Hash::words; ++word)
        for (std::size_t g = 0; g < groups; ++g)
            std::memcpy(&sum[g][word], state + (word * groups + g) * lanes, sizeof(Vector));
    for (std::size_t at = 0; at < blocks * 64; at += 64) {
        Vector message[groups][16], work[groups][Hash::words];
        for (std::size_t g = 0; g < groups; ++g) {
            load_blocks<Set, Hash::order>(data + g * lanes, at, message[g]);
            for (std::size_t word = 0; word < Hash::words; ++word) work[g][word] = sum[g][word];
        }
        Hash::rounds(work, message);
        for (std::size_t g = 0; g < groups; ++g)
            for (std::size_t word = 0; word < Hash::words; ++word) sum[g][word] += work[g][word];
    }
    for (std::size_t word = 0; word < Hash::words; ++word)
        for (std::size_t g = 0; g < groups; ++g)
            std::memcpy(state + (word * groups + g) * lanes, &sum[g][word], sizeof(Vector));
}
