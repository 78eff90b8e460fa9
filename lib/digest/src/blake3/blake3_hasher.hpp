// SPDX-License-Identifier: Apache-2.0
// BLAKE3 piece by piece. Whole chunks that come in one piece go to the lanes, up to 128 at a time, and so do
// the pairs of nodes above them; blocks that come alone go one by one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "blake3/blake3_kernels.hpp"
#include "weir/base/data.hpp"

namespace weir::digest::blake3 {

/// The right edge of the tree: the roots of the whole subtrees before the next chunk, from large to small.
/// Two of one size are joined only when more comes, because the topmost join is flagged as the root.
class Edge {
public:
    /// Joins the values that waited: there is data from chunk number `first` on.
    void settle(const Kernel& kernel, std::uint64_t first) noexcept;
    /// A node that stands above whole chunks from number `first` on.
    void push(const Kernel& kernel, const Node& node, std::uint64_t first) noexcept;
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] std::span<const Node> nodes() const noexcept { return {nodes_, count_}; }
    void clear() noexcept { count_ = 0; }

private:
    static constexpr std::size_t levels_max = 56;  // 2^64 bytes are 54 levels of chunks, and two wait to be joined

    Node nodes_[levels_max];  // the first count_ are set
    std::size_t count_ = 0;
};

/// A chunk underway. Its last block waits, whole or not, because it is compressed with flags of its own.
class Chunk {
public:
    /// At most the missing bytes of 1 KiB.
    void add(const Kernel& kernel, ConstData data, std::uint64_t number) noexcept;
    /// Its node; `flags` is `root` when there is no other.
    [[nodiscard]] Node node(const Kernel& kernel, std::uint64_t number, std::uint32_t flags) const noexcept;
    [[nodiscard]] std::size_t size() const noexcept { return block_size * blocks_ + used_; }
    void clear() noexcept { *this = Chunk(); }

private:
    [[nodiscard]] std::uint32_t start() const noexcept { return blocks_ == 0 ? chunk_start : 0U; }

    Node node_ = initial;
    std::size_t blocks_ = 0;  // in node_
    std::size_t used_ = 0;    // bytes of block_
    alignas(16) std::byte block_[block_size];
};

/// The node above two; `flags` is `root` when there is none above it.
[[nodiscard]] Node parent_of(const Kernel& kernel, const Node& left, const Node& right, std::uint32_t flags) noexcept;
/// As it is printed.
[[nodiscard]] std::array<std::byte, 32> bytes_of(const Node& node) noexcept;

class Hasher {
public:
    /// `first`: the number of the chunk where the data begins. From another than 0 on it is a subtree, which begins at
    /// a multiple of its size.
    explicit Hasher(const Kernel& kernel = best(), std::uint64_t first = 0) noexcept
        : kernel_(&kernel), first_(first) {}

    void add(ConstData data) noexcept;
    /// Of everything added so far; more may follow.
    [[nodiscard]] std::array<std::byte, 32> value() const noexcept { return bytes_of(top(root)); }
    /// The node above everything added, for one that stands above it.
    [[nodiscard]] Node subtree() const noexcept { return top(0); }
    void reset() noexcept;

private:
    [[nodiscard]] Node top(std::uint32_t flags) const noexcept;
    void add_chunks(ConstData data) noexcept;
    void push_level(std::span<Node> nodes) noexcept;

    const Kernel* kernel_;
    std::uint64_t first_;
    std::uint64_t chunks_ = 0;  // whole ones from first_ on, under edge_
    Edge edge_;
    Chunk chunk_;
};

}  // namespace weir::digest::blake3
