// SPDX-License-Identifier: Apache-2.0
#include "blake3/blake3_hasher.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "weir/base/assert.hpp"
#include "weir/base/endian.hpp"

namespace weir::digest::blake3 {
namespace {

constexpr std::size_t batch = 128;  // chunks that one call of a kernel takes; their nodes are 4 KiB

void compress_parent(const Kernel& kernel, const Node& left, const Node& right, std::uint32_t flags,
                     Node& node) noexcept {
    std::byte block[block_size];
    for (std::size_t i = 0; i < 8; ++i) {
        store_little<std::uint32_t>(block, 4 * i, left[i]);
        store_little<std::uint32_t>(block, 4 * i + 32, right[i]);
    }
    node = initial;
    kernel.compress(node, block, 0, block_size, parent | flags);
}

}  // namespace

Node parent_of(const Kernel& kernel, const Node& left, const Node& right, std::uint32_t flags) noexcept {
    Node node;
    compress_parent(kernel, left, right, flags, node);
    return node;
}

std::array<std::byte, 32> bytes_of(const Node& node) noexcept {
    std::array<std::byte, 32> bytes;
    for (std::size_t i = 0; i < node.size(); ++i) store_little<std::uint32_t>(bytes, 4 * i, node[i]);
    return bytes;
}

void Edge::settle(const Kernel& kernel, std::uint64_t first) noexcept {
    // As many subtrees stand before `first` as it has bits; more are pairs that waited.
    for (; count_ > static_cast<std::size_t>(std::popcount(first)); --count_)
        compress_parent(kernel, nodes_[count_ - 2], nodes_[count_ - 1], 0, nodes_[count_ - 2]);
}

void Edge::push(const Kernel& kernel, const Node& node, std::uint64_t first) noexcept {
    settle(kernel, first);
    WEIR_ASSERT(count_ < levels_max);
    nodes_[count_++] = node;
}

void Chunk::add(const Kernel& kernel, ConstData data, std::uint64_t number) noexcept {
    while (!data.empty()) {
        if (used_ == block_size) {  // and more comes: it was not the last one
            kernel.compress(node_, block_, number, block_size, start());
            ++blocks_;
            used_ = 0;
        }
        if (used_ == 0) {
            for (; data.size() > block_size; data = data.subspan(block_size)) {
                kernel.compress(node_, data.data(), number, block_size, start());
                ++blocks_;
            }
        }
        const auto part = data.first(std::min(data.size(), block_size - used_));
        std::memcpy(block_ + used_, part.data(), part.size());
        used_ += part.size();
        data = data.subspan(part.size());
    }
}

Node Chunk::node(const Kernel& kernel, std::uint64_t number, std::uint32_t flags) const noexcept {
    alignas(16) std::byte block[block_size] = {};
    std::memcpy(block, block_, used_);
    Node node = node_;
    kernel.compress(node, block, number, static_cast<std::uint32_t>(used_), start() | chunk_end | flags);
    return node;
}

void Hasher::add(ConstData data) noexcept {
    if (chunk_.size() != 0) {
        const auto part = data.first(std::min(data.size(), chunk_size - chunk_.size()));
        chunk_.add(*kernel_, part, first_ + chunks_);
        data = data.subspan(part.size());
        if (data.empty()) return;
        edge_.push(*kernel_, chunk_.node(*kernel_, first_ + chunks_, 0), chunks_);
        ++chunks_;
        chunk_.clear();
    }
    // A single chunk may be all there is, then it is the root; of two or more none can be.
    while (data.size() > chunk_size) {
        const auto count = std::min<std::size_t>(data.size() / chunk_size, batch - chunks_ % batch);
        add_chunks(data.first(count * chunk_size));
        data = data.subspan(count * chunk_size);
    }
    if (data.empty()) return;
    edge_.settle(*kernel_, chunks_);
    chunk_.add(*kernel_, data, first_ + chunks_);
}

void Hasher::add_chunks(ConstData data) noexcept {
    Node nodes[batch];
    const auto count = data.size() / chunk_size;
    kernel_->chunks(data.data(), count, first_ + chunks_, nodes);
    push_level({nodes, count});
}

/// Nodes of the chunks from chunks_ on. Pairs of them are
/// joined in lanes, level by level, down to two; a value without a partner here goes to the edge.
void Hasher::push_level(std::span<Node> nodes) noexcept {
    struct Right {
        Node node;
        std::uint64_t first;
    };
    std::array<Right, 10> rights;  // at most one a level
    std::size_t right_count = 0;
    std::uint64_t first = chunks_, width = 1;  // chunks below a node
    chunks_ += nodes.size();
    while (nodes.size() > 2) {
        if (first / width % 2 != 0) {  // the right child of a parent whose left child came earlier
            edge_.push(*kernel_, nodes.front(), first);
            nodes = nodes.subspan(1);
            first += width;
        }
        if (nodes.size() % 2 != 0) {  // the left child of one whose right child is still to come
            rights[right_count++] = {nodes.back(), first + (nodes.size() - 1) * width};
            nodes = nodes.first(nodes.size() - 1);
        }
        kernel_->parents(nodes.data(), nodes.size() / 2, nodes.data());
        nodes = nodes.first(nodes.size() / 2);
        width *= 2;
    }
    for (const auto& node : nodes) {
        edge_.push(*kernel_, node, first);
        first += width;
    }
    while (right_count-- > 0) edge_.push(*kernel_, rights[right_count].node, rights[right_count].first);
}

Node Hasher::top(std::uint32_t flags) const noexcept {
    auto nodes = edge_.nodes();
    if (nodes.empty()) return chunk_.node(*kernel_, first_, flags);
    Node node;
    if (chunk_.size() != 0) {
        node = chunk_.node(*kernel_, first_ + chunks_, 0);
    } else {
        node = nodes.back();
        nodes = nodes.first(nodes.size() - 1);  // at least one is left: a lone node is never pushed
    }
    for (; !nodes.empty(); nodes = nodes.first(nodes.size() - 1))
        compress_parent(*kernel_, nodes.back(), node, nodes.size() == 1 ? flags : 0U, node);
    return node;
}

void Hasher::reset() noexcept {
    chunks_ = 0;
    edge_.clear();
    chunk_.clear();
}

}  // namespace weir::digest::blake3
