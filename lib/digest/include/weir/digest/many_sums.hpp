// SPDX-License-Identifier: Apache-2.0
// Sums of many streams at once: of files that one thread reads block by block in turn, or of many events. md5,
// sha1 and sha256 are chains that cannot be split, but those of different streams fit into the lanes of
// vector instructions: md5 of 24 streams costs what two or three alone cost. The other algorithms are fast
// alone and are simply done one after the other, so a caller need not distinguish them.
//
//     ManySums sums(algorithm, n);           // n >= ManySums::useful_streams(algorithm) fills the lanes
//     loop: read a block (64 KiB or more) of each open file
//           sums.add(parts);                 // one part for each of them, any sizes, `last` at a file's end
//           for those that ended: sums.value(stream), sums.reset(stream), open the next file
//
// Read buffers that begin at different places of a page, such as 64 KiB + 320 bytes apart, are a tenth faster
// for md5 than page-aligned ones: those compete for the same places of the first-level cache.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/digest/digest.hpp"

namespace weir::digest {

class Engine;
class LaneStreams;

/// One thread at a time.
class ManySums {
public:
    /// The next bytes of a stream.
    struct Part {
        std::size_t stream;
        ConstData data;     // may be empty
        bool last = false;  // nothing follows until reset(): its end is then computed in the lanes, too
    };

    ManySums(Algorithm algorithm, std::size_t streams);
    ~ManySums();
    ManySums(ManySums&&) noexcept;
    ManySums& operator=(ManySums&&) noexcept;

    /// At most one part of each stream. All of them are summed when it returns; nothing refers to the data
    /// any more. Streams whose parts are shorter leave their lane to others.
    void add(std::span<const Part> parts);
    /// Of everything added to the stream so far; unless it has ended, more may follow.
    [[nodiscard]] Digest value(std::size_t stream) const;
    /// The stream begins anew.
    void reset(std::size_t stream);

    /// The number of streams that fills the lanes of this processor; more do no harm. 1 where one alone is as
    /// fast as many.
    [[nodiscard]] static std::size_t useful_streams(Algorithm algorithm);

private:
    std::unique_ptr<LaneStreams> lanes_;            // md5, sha1, sha256
    std::vector<std::unique_ptr<Engine>> engines_;  // the others
};

/// The sums of many pieces of data, in their order.
[[nodiscard]] std::vector<Digest> sum_many(Algorithm algorithm, std::span<const ConstData> data);

}  // namespace weir::digest
