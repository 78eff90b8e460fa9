// SPDX-License-Identifier: Apache-2.0
// Every implementation of BLAKE3 against the portable one and the known answers.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "blake3/blake3_hasher.hpp"
#include "samples.hpp"
#include "weir/digest/summer.hpp"

namespace weir::digest {
namespace {

using namespace blake3;
using test::random_bytes;

std::vector<const Kernel*> usable_kernels() {
    std::vector<const Kernel*> usable;
    for (const auto* kernel : kernels())
        if (kernel->usable(CpuFeatures::detect())) usable.push_back(kernel);
    return usable;
}

Digest sum_with(const Kernel& kernel, ConstData data) {
    Hasher hasher(kernel);
    hasher.add(data);
    return Digest::of_bytes(Algorithm::blake3, hasher.value());
}

TEST(Blake3Kernels, GiveTheKnownAnswers) {
    for (const auto& answer : test::known_answers()) {
        for (const auto& right : answer.digests) {
            if (right.algorithm() != Algorithm::blake3) continue;
            for (const auto* kernel : usable_kernels())
                EXPECT_EQ(sum_with(*kernel, answer.data).hex(), right.hex()) << kernel->name << " " << answer.input;
        }
    }
}

TEST(Blake3Kernels, CompressABlockOfAnyLengthWithAnyFlags) {
    const auto data = random_bytes(64 * 40, 1);
    for (std::size_t i = 0; i < 40; ++i) {
        Node right = initial;
        portable.compress(right, data.data() + 64 * i, i << 30, static_cast<std::uint32_t>(i),
                          static_cast<std::uint32_t>(i % 16));
        for (const auto* kernel : usable_kernels()) {
            Node node = initial;
            kernel->compress(node, data.data() + 64 * i, i << 30, static_cast<std::uint32_t>(i),
                             static_cast<std::uint32_t>(i % 16));
            EXPECT_EQ(node, right) << kernel->name;
        }
    }
}

// The number of a chunk has 64 bits: both halves, and the step from one to the other within a vector.
TEST(Blake3Kernels, GiveTheNodesOfAnyNumberOfChunksWhereverTheyStand) {
    const auto data = random_bytes(40 * chunk_size + 1, 2);
    for (const std::uint64_t first : {0ULL, 1ULL, (1ULL << 32) - 3, (1ULL << 53) + 12345}) {
        for (std::size_t count = 0; count <= 40; ++count) {
            std::vector<Node> right(count);
            portable.chunks(data.data() + 1, count, first, right.data());
            for (const auto* kernel : usable_kernels()) {
                std::vector<Node> nodes(count + 1, Node{7});
                kernel->chunks(data.data() + 1, count, first, nodes.data());
                EXPECT_EQ(nodes.back(), Node{7}) << kernel->name << " wrote too much at " << count;
                nodes.pop_back();
                ASSERT_EQ(nodes, right) << kernel->name << " " << count << " from " << first;
            }
        }
    }
}

TEST(Blake3Kernels, GiveTheNodesAboveAnyNumberOfPairsAlsoInPlace) {
    std::mt19937 random(3);
    std::vector<Node> children(80);
    for (auto& node : children)
        for (auto& word : node) word = static_cast<std::uint32_t>(random());
    for (std::size_t count = 0; count <= 40; ++count) {
        std::vector<Node> right(count);
        portable.parents(children.data(), count, right.data());
        for (const auto* kernel : usable_kernels()) {
            auto nodes = children;
            kernel->parents(nodes.data(), count, nodes.data());
            ASSERT_TRUE(std::equal(right.begin(), right.end(), nodes.begin())) << kernel->name << " " << count;
            for (std::size_t i = std::max<std::size_t>(count, 1); i < nodes.size(); ++i)
                ASSERT_EQ(nodes[i], children[i]) << kernel->name << " wrote too much at " << count;
        }
    }
}

TEST(Blake3Hasher, GivesTheSameSumForEverySizeAroundChunksAndSubtrees) {
    const auto data = random_bytes(300 * chunk_size, 4);
    for (const std::size_t chunks :
         {0U, 1U, 2U, 3U, 4U, 5U, 7U, 8U, 9U, 15U, 16U, 17U, 31U, 33U, 63U, 127U, 128U, 129U, 255U, 256U, 257U, 299U}) {
        for (const std::size_t more : {0U, 1U, 64U, 65U, 1023U}) {
            const auto part = ConstData(data).first(chunks * chunk_size + more);
            const auto right = sum_with(portable, part);
            for (const auto* kernel : usable_kernels())
                ASSERT_EQ(sum_with(*kernel, part), right) << kernel->name << " " << part.size();
        }
    }
}

/// The tree as the paper defines it, without any order of work.
Node node_of(ConstData data, std::uint64_t first, std::uint32_t flags) {
    if (data.size() <= chunk_size) {
        Chunk chunk;
        chunk.add(portable, data, first);
        return chunk.node(portable, first, flags);
    }
    const auto left = std::bit_floor((data.size() - 1) / chunk_size) * chunk_size;  // the largest that leaves something
    const Node children[2] = {node_of(data.first(left), first, 0),
                              node_of(data.subspan(left), first + left / chunk_size, 0)};
    Node node = initial;
    portable.compress(node, reinterpret_cast<const std::byte*>(children), 0, block_size, parent | flags);
    return node;
}

TEST(Blake3Hasher, PiecesOfAnySizeGiveTheTreeOfThePaper) {
    const auto data = random_bytes(700 * chunk_size, 5);
    std::mt19937_64 random(6);
    for (int trial = 0; trial < 60; ++trial) {
        const auto all = ConstData(data).first(random() % data.size());
        const auto largest = std::array<std::size_t, 4>{100, 3000, 40'000, 600'000}[random() % 4];
        Hasher hasher(*usable_kernels()[random() % usable_kernels().size()]);
        for (auto rest = all; !rest.empty();) {
            auto size = random() % largest + 1;
            if (random() % 3 == 0) size = (size + chunk_size - 1) / chunk_size * chunk_size;
            const auto part = rest.first(std::min<std::size_t>(rest.size(), size));
            hasher.add(part);
            rest = rest.subspan(part.size());
        }
        const auto right = node_of(all, 0, root);
        ASSERT_EQ(std::memcmp(hasher.value().data(), right.data(), 32), 0)
            << "trial " << trial << ", " << all.size() << " bytes";
    }
}

}  // namespace
}  // namespace weir::digest
