// SPDX-License-Identifier: Apache-2.0
#include "weir/digest/split_sum.hpp"

#include <algorithm>
#include <bit>

#include "blake3/blake3_tree.hpp"
#include "engines/engines.hpp"
#include "weir/base/assert.hpp"
#include "weir/base/endian.hpp"

namespace weir::digest {

bool SplitSum::possible(Algorithm algorithm, std::uint64_t part_size) noexcept {
    if (algorithm == Algorithm::blake3) return part_size >= blake3::chunk_size && std::has_single_bit(part_size);
    return combinable(algorithm) && part_size > 0;
}

SplitSum::SplitSum(Algorithm algorithm, std::uint64_t length, std::uint64_t part_size)
    : algorithm_(algorithm),
      length_(length),
      part_size_(part_size),
      parts_(length / part_size + (length % part_size != 0 ? 1 : 0)) {
    WEIR_ASSERT(possible(algorithm, part_size));
    if (algorithm == Algorithm::blake3) {
        tree_ = std::make_unique<Blake3Tree>(parts_, part_size / blake3::chunk_size);
    } else {
        ranges_ = *RangeSum::of(algorithm);
    }
}

SplitSum::~SplitSum() = default;
SplitSum::SplitSum(SplitSum&&) noexcept = default;
SplitSum& SplitSum::operator=(SplitSum&&) noexcept = default;

std::unique_ptr<Engine> SplitSum::begin(std::uint64_t index) const {
    WEIR_ASSERT(index < parts_);
    return tree_ ? tree_->begin(index) : make_engine(algorithm_);
}

void SplitSum::add(std::uint64_t index, const Digest& value) {
    WEIR_ASSERT(index < parts_ && value.algorithm() == algorithm_);
    if (tree_) {
        blake3::Node node;
        for (std::size_t i = 0; i < node.size(); ++i) node[i] = load_little<std::uint32_t>(value.bytes(), 4 * i);
        return tree_->add(index, node);
    }
    const auto offset = index * part_size_;
    const auto added = ranges_->add(offset, value, std::min(part_size_, length_ - offset));
    WEIR_ASSERT(added.has_value());
}

std::optional<Digest> SplitSum::value() const {
    if (parts_ == 0) return sum(algorithm_, {});
    if (tree_) {
        if (!tree_->root()) return std::nullopt;
        return Digest::of_bytes(algorithm_, blake3::bytes_of(*tree_->root()));
    }
    const auto value = ranges_->value(length_);
    return value ? std::optional(*value) : std::nullopt;
}

}  // namespace weir::digest
