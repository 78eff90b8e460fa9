// SPDX-License-Identifier: Apache-2.0
#include "lanes/lane_streams.hpp"

#include <algorithm>

#include "weir/base/assert.hpp"

namespace weir::digest {
LaneStreams::LaneStreams(Algorithm algorithm, std::size_t streams)
    : algorithm_(algorithm), hash_(block_hash(algorithm)), streams_(streams) {
    const auto kernels = lane_kernels(algorithm);
    const auto costs = lane_costs(algorithm);
    for (std::size_t count = 0; count < kernel_for_.size(); ++count)
        kernel_for_[count] = &best_lanes(kernels, costs, std::max<std::size_t>(count, 1));
    active_.reserve(streams);
    for (auto& stream : streams_) stream.state = hash_.initial;
}

LaneStreams::LaneStreams(Algorithm algorithm, std::size_t streams, const LaneKernel& kernel)
    : LaneStreams(algorithm, streams) {
    kernel_for_.fill(&kernel);
}

std::size_t LaneStreams::useful(Algorithm algorithm) {
    return best_lanes(lane_kernels(algorithm), lane_costs(algorithm), lanes_max).lanes;
}

void LaneStreams::add(std::span<const ManySums::Part> parts) {
    for (const auto& part : parts) {
        WEIR_ASSERT(part.stream < streams_.size());
        auto& stream = streams_[part.stream];
        WEIR_ASSERT(!stream.ended);
        WEIR_ASSERT(stream.blocks == 0);  // one part of a stream a call
        prepare(stream, part);
        if (stream.blocks != 0) active_.push_back(&stream);
    }
    take_turns();
    for (const auto& part : parts) finish(streams_[part.stream]);
}

void LaneStreams::prepare(Stream& stream, const ManySums::Part& part) {
    auto data = part.data;
    stream.length += data.size();
    stream.run = stream.run_count = 0;
    const auto add_run = [&](const std::byte* at, std::size_t blocks) {
        stream.runs[stream.run_count++] = {at, blocks};
        stream.blocks += blocks;
    };
    if (stream.begun_size != 0) {
        const auto first = data.first(std::min(data.size(), block_size - stream.begun_size));
        std::ranges::copy(first, stream.begun.begin() + static_cast<std::ptrdiff_t>(stream.begun_size));
        stream.begun_size += first.size();
        data = data.subspan(first.size());
        if (stream.begun_size == block_size) {
            add_run(stream.begun.data(), 1);
            stream.begun_size = 0;
        }
    }
    if (const auto whole = data.size() / block_size; whole != 0) {
        add_run(data.data(), whole);
        data = data.subspan(whole * block_size);
    }
    if (part.last) {
        const auto rest = stream.begun_size != 0 ? ConstData(stream.begun).first(stream.begun_size) : data;
        add_run(stream.end.data(), write_end(hash_, rest, stream.length, stream.end));
        data = {};
        stream.ended = true;
    }
    stream.left_over = data;
}

void LaneStreams::finish(Stream& stream) noexcept {
    if (stream.left_over.empty()) return;
    std::ranges::copy(stream.left_over, stream.begun.begin());
    stream.begun_size = stream.left_over.size();
    stream.left_over = {};
}

void LaneStreams::take_turns() {
    constexpr std::size_t short_turn = 32;  // blocks; between turns states are loaded and stored
    const auto more_to_do = [](const Stream* a, const Stream* b) { return a->blocks > b->blocks; };
    const auto has_none = [](const Stream* stream) { return stream->blocks == 0; };
    for (; !active_.empty(); std::erase_if(active_, has_none)) {
        const auto& kernel = *kernel_for_[std::min(active_.size(), lanes_max)];
        const auto lanes = std::min(active_.size(), kernel.lanes);
        const auto first_that_waits = active_.begin() + static_cast<std::ptrdiff_t>(lanes);
        std::ranges::nth_element(active_, first_that_waits, more_to_do);
        auto blocks = active_.front()->runs[active_.front()->run].blocks;
        for (std::size_t i = 1; i < lanes; ++i) blocks = std::min(blocks, active_[i]->runs[active_[i]->run].blocks);
        // Where some wait, all get a turn now and then, so that the last ones do not run in half empty lanes. The
        // more there are, the less it matters.
        const bool some_wait = active_.size() > lanes && lanes > 1;
        if (some_wait) blocks = std::min(blocks, short_turn * (active_.size() / lanes + 1));
        take_round(kernel, lanes, blocks);
    }
}

void LaneStreams::take_round(const LaneKernel& kernel, std::size_t lanes, std::size_t blocks) {
    alignas(64) std::array<std::uint32_t, std::tuple_size_v<BlockState> * lanes_max> state;
    std::array<const std::byte*, lanes_max> data;
    for (std::size_t lane = 0; lane < kernel.lanes; ++lane) {
        const auto& stream = *active_[lane < lanes ? lane : 0];  // a lane too many does the first once more
        data[lane] = stream.runs[stream.run].data;
        for (std::size_t word = 0; word < hash_.words; ++word) state[word * kernel.lanes + lane] = stream.state[word];
    }
    kernel.run(state.data(), data.data(), blocks);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        auto& stream = *active_[lane];
        for (std::size_t word = 0; word < hash_.words; ++word) stream.state[word] = state[word * kernel.lanes + lane];
        stream.blocks -= blocks;
        auto& run = stream.runs[stream.run];
        run.data += blocks * block_size;
        run.blocks -= blocks;
        if (run.blocks == 0) ++stream.run;
    }
}

Digest LaneStreams::value(std::size_t index) const {
    WEIR_ASSERT(index < streams_.size());
    const auto& stream = streams_[index];
    auto state = stream.state;
    if (!stream.ended) {
        std::array<std::byte, 2 * block_size> end;
        const auto blocks = write_end(hash_, ConstData(stream.begun).first(stream.begun_size), stream.length, end);
        const auto* const data = end.data();
        lane_kernels(algorithm_).front().run(state.data(), &data, blocks);
    }
    return digest_of(algorithm_, state);
}

void LaneStreams::reset(std::size_t index) {
    WEIR_ASSERT(index < streams_.size());
    auto& stream = streams_[index];
    stream.state = hash_.initial;
    stream.length = 0;
    stream.begun_size = 0;
    stream.ended = false;
}

}  // namespace weir::digest
