// SPDX-License-Identifier: Apache-2.0
#include "blake3/blake3_tree.hpp"

#include "weir/base/assert.hpp"

namespace weir::digest {
namespace {

class Subtree final : public Engine {
public:
    Subtree(std::uint64_t first, bool is_all) noexcept : hasher_(blake3::best(), first), is_all_(is_all) {}

    void add(ConstData data) override { hasher_.add(data); }
    [[nodiscard]] Digest value() const override {
        return Digest::of_bytes(Algorithm::blake3, is_all_ ? hasher_.value() : blake3::bytes_of(hasher_.subtree()));
    }
    void reset() override { hasher_.reset(); }
    [[nodiscard]] std::unique_ptr<Engine> clone() const override { return std::make_unique<Subtree>(*this); }

private:
    blake3::Hasher hasher_;
    bool is_all_;
};

}  // namespace

std::unique_ptr<Engine> Blake3Tree::begin(std::uint64_t index) const {
    WEIR_ASSERT(index < parts_);
    return std::make_unique<Subtree>(index * chunks_, parts_ == 1);
}

void Blake3Tree::add(std::uint64_t index, blake3::Node node) {
    WEIR_ASSERT(index < parts_);
    unsigned level = 0;
    for (auto count = parts_; count > 1; count = (count + 1) / 2, index /= 2, ++level) {
        const bool is_left = index % 2 == 0;
        if (is_left && index + 1 == count) continue;  // without a neighbour
        const auto neighbour = waiting_.find({level, index ^ 1U});
        if (neighbour == waiting_.end()) {
            const bool is_new = waiting_.emplace(std::pair{level, index}, node).second;
            WEIR_ASSERT(is_new);
            return;
        }
        const auto& other = neighbour->second;
        const auto flags = count == 2 ? blake3::root : 0U;
        node = is_left ? parent_of(blake3::best(), node, other, flags) : parent_of(blake3::best(), other, node, flags);
        waiting_.erase(neighbour);
    }
    WEIR_ASSERT(!root_);
    root_ = node;
}

}  // namespace weir::digest
