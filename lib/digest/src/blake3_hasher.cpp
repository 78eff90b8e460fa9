// SPDX-License-Identifier: Apache-2.0
#include "blake3_hasher.hpp"

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

/// The two nodes below the root of a subtree. `count` is a power of two from 2 on.
void top_of_subtree(const Kernel& kernel, const std::byte* data, std::size_t count, std::uint64_t first,
                    Node* two) noexcept {
    if (count > batch) {
        Node four[4];
        top_of_subtree(kernel, data, count / 2, first, four);
        top_of_subtree(kernel, data + count / 2 * chunk_size, count / 2, first + count / 2, four + 2);
        kernel.parents(four, 2, two);
        return;
    }
    Node nodes[batch];
    kernel.chunks(data, count, first, nodes);
    for (; count > 2; count /= 2) kernel.parents(nodes, count / 2, nodes);
    std::copy_n(nodes, 2, two);
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

void Hasher::add(ConstData data, checksum::Workers* workers) noexcept {
    if (chunk_.size() != 0) {
        const auto part = data.first(std::min(data.size(), chunk_size - chunk_.size()));
        chunk_.add(*kernel_, part, first_ + chunks_);
        data = data.subspan(part.size());
        if (data.empty()) return;
        edge_.push(*kernel_, chunk_.node(*kernel_, first_ + chunks_, 0), chunks_);
        ++chunks_;
        chunk_.clear();
    }
    if (workers != nullptr) data = add_shared(data, *workers);
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
    push_level({nodes, count}, 1);
}

ConstData Hasher::add_shared(ConstData data, checksum::Workers& workers) noexcept {
    constexpr std::size_t pieces_max = 256, piece_min = 32, piece_max = 1024;  // chunks
    constexpr std::size_t lasting = 512;  // chunks that keep the fastest kernel busy for Workers::worth_waking
    const std::size_t threads = workers.threads() + 1;
    // A quarter of a MiB is worth it at first; when that has been shared, so is what is left.
    for (std::size_t worth_it = 256; data.size() / chunk_size >= worth_it;) {
        const auto chunks = data.size() / chunk_size;
        // Pieces small enough for all to end together, large enough not to be counted.
        std::size_t piece = piece_min;
        while (piece < piece_max && chunks / piece > 16 * threads) piece *= 2;
        if (const auto odd = chunks_ % piece; odd != 0) {  // a piece is a subtree: it stands at a multiple of its size
            const auto step = std::min(piece, batch);
            const auto count = std::min(step - odd % step, chunks);
            add_chunks(data.first(count * chunk_size));
            data = data.subspan(count * chunk_size);
            continue;
        }
        const auto pieces = std::min(chunks / piece, pieces_max);
        Node nodes[2 * pieces_max];
        workers.share(pieces, chunks >= lasting, [&](std::size_t i) {
            top_of_subtree(*kernel_, data.data() + i * piece * chunk_size, piece, first_ + chunks_ + i * piece,
                           nodes + 2 * i);
        });
        push_level({nodes, 2 * pieces}, piece / 2);
        data = data.subspan(pieces * piece * chunk_size);
        worth_it = 2 * piece_min;
    }
    return data;
}

/// Nodes that stand beside each other from chunk chunks_ on, above `width` chunks each. Pairs of them are
/// joined in lanes, level by level, down to two; what has no partner here goes to the edge.
void Hasher::push_level(std::span<Node> nodes, std::uint64_t width) noexcept {
    struct Right {
        Node node;
        std::uint64_t first;
    };
    std::array<Right, 10> rights;  // at most one a level
    std::size_t right_count = 0;
    auto first = chunks_;
    chunks_ += nodes.size() * width;
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
