// SPDX-License-Identifier: Apache-2.0
#include "weir/digest/many_sums.hpp"

#include <algorithm>
#include <numeric>

#include "engines/engines.hpp"
#include "lanes/lane_streams.hpp"
#include "weir/base/assert.hpp"

namespace weir::digest {

ManySums::ManySums(Algorithm algorithm, std::size_t streams) {
    if (is_block_hash(algorithm)) {
        lanes_ = std::make_unique<LaneStreams>(algorithm, streams);
    } else {
        for (std::size_t i = 0; i < streams; ++i) engines_.push_back(make_engine(algorithm));
    }
}

ManySums::~ManySums() = default;
ManySums::ManySums(ManySums&&) noexcept = default;
ManySums& ManySums::operator=(ManySums&&) noexcept = default;

void ManySums::add(std::span<const Part> parts) {
    if (lanes_) return lanes_->add(parts);
    for (const auto& part : parts) {
        WEIR_ASSERT(part.stream < engines_.size());
        engines_[part.stream]->add(part.data);
    }
}

Digest ManySums::value(std::size_t stream) const {
    if (lanes_) return lanes_->value(stream);
    WEIR_ASSERT(stream < engines_.size());
    return engines_[stream]->value();
}

void ManySums::reset(std::size_t stream) {
    if (lanes_) return lanes_->reset(stream);
    WEIR_ASSERT(stream < engines_.size());
    engines_[stream]->reset();
}

std::size_t ManySums::useful_streams(Algorithm algorithm) {
    return is_block_hash(algorithm) ? LaneStreams::useful(algorithm) : 1;
}

std::vector<Digest> sum_many(Algorithm algorithm, std::span<const ConstData> data) {
    std::vector<Digest> digests;
    digests.reserve(data.size());
    if (!is_block_hash(algorithm)) {
        for (const auto& one : data) digests.push_back(sum(algorithm, one));
        return digests;
    }
    // The largest first, in sets of similar size, so that few lanes are empty at the end of a set.
    std::vector<std::size_t> order(data.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, std::ranges::greater{}, [&](std::size_t i) { return data[i].size(); });
    const auto set_size = std::min(data.size(), 2 * lanes_max);
    LaneStreams streams(algorithm, set_size);
    std::vector<ManySums::Part> parts;
    std::vector<Digest> ordered;
    std::vector<std::size_t> place(data.size());  // in `ordered`
    for (std::size_t first = 0; first < order.size(); first += set_size) {
        const auto set = std::span(order).subspan(first, std::min(set_size, order.size() - first));
        parts.clear();
        for (std::size_t i = 0; i < set.size(); ++i) parts.push_back({i, data[set[i]], true});
        streams.add(parts);
        for (std::size_t i = 0; i < set.size(); ++i) {
            place[set[i]] = ordered.size();
            ordered.push_back(streams.value(i));
            streams.reset(i);
        }
    }
    for (const auto at : place) digests.push_back(ordered[at]);
    return digests;
}

}  // namespace weir::digest
