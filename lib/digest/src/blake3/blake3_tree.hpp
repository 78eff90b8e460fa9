// SPDX-License-Identifier: Apache-2.0
// BLAKE3 above subtrees of one size (the last may be smaller) that are made apart and come in any order. Level by
// level neighbours are joined, and one without a neighbour rises as it is: that gives the tree of BLAKE3, in
// which a left subtree is the largest power of two of chunks that leaves something on its right.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "blake3/blake3_hasher.hpp"
#include "weir/digest/summer.hpp"

namespace weir::digest {

class Blake3Tree {
public:
    /// `parts` of `chunks` chunks each, a power of two.
    Blake3Tree(std::uint64_t parts, std::uint64_t chunks) noexcept : parts_(parts), chunks_(chunks) {}

    /// Its value is the subtree's node; when there are no others it is the root, and its value the sum.
    [[nodiscard]] std::unique_ptr<Engine> begin(std::uint64_t index) const;
    /// Each once.
    void add(std::uint64_t index, blake3::Node node);
    [[nodiscard]] const std::optional<blake3::Node>& root() const noexcept { return root_; }

private:
    std::uint64_t parts_, chunks_;
    std::map<std::pair<unsigned, std::uint64_t>, blake3::Node>
        waiting_;  // by level and place in it: its neighbour is to come
    std::optional<blake3::Node> root_;
};

}  // namespace weir::digest
