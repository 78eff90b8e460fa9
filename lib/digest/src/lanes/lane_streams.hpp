// SPDX-License-Identifier: Apache-2.0
// Streams of md5, sha1 or sha256 that take turns in the lanes of a kernel. Streams have no lane of their own:
// each round picks those that have most to do, so that they end together, and takes as many blocks as all
// of them have. Between rounds the state of a stream is in memory, so the rounds are made long.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lanes/block_hash.hpp"
#include "lanes/lane_kernels.hpp"
#include "weir/digest/many_sums.hpp"

namespace weir::digest {

class LaneStreams {
public:
    LaneStreams(Algorithm algorithm, std::size_t streams);
    /// A choice of one kernel, for tests and benches.
    LaneStreams(Algorithm algorithm, std::size_t streams, const LaneKernel& kernel);

    void add(std::span<const ManySums::Part> parts);
    [[nodiscard]] Digest value(std::size_t stream) const;
    void reset(std::size_t stream);
    [[nodiscard]] std::size_t size() const noexcept { return streams_.size(); }

    /// How many streams there have to be for the highest rate.
    [[nodiscard]] static std::size_t useful(Algorithm algorithm);

private:
    /// Blocks that lie together: the one that was begun in an earlier call, those in the data, the end.
    struct Run {
        const std::byte* data;
        std::size_t blocks;
    };

    struct Stream {
        BlockState state;
        std::uint64_t length = 0;
        std::array<std::byte, block_size> begun;  // the last bytes, when they are no whole block
        std::size_t begun_size = 0;
        std::array<std::byte, 2 * block_size> end;
        bool ended = false;
        // Of the call in progress:
        std::array<Run, 3> runs;
        std::size_t run = 0, run_count = 0;
        std::size_t blocks = 0;  // of all runs
        ConstData left_over;     // behind the last whole block
    };

    void prepare(Stream& stream, const ManySums::Part& part);
    void finish(Stream& stream) noexcept;
    void take_turns();
    void take_round(const LaneKernel& kernel, std::size_t lanes, std::size_t blocks);

    const Algorithm algorithm_;
    const BlockHash& hash_;
    std::array<const LaneKernel*, lanes_max + 1> kernel_for_;  // so many streams; the last for more
    std::vector<Stream> streams_;
    std::vector<Stream*> active_;  // have blocks to be taken
};

}  // namespace weir::digest
