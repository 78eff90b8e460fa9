// SPDX-License-Identifier: Apache-2.0
// Puts the bytes of one event, whole or cut down, into its place, and sums them: in one pass for
// `receipt`; as a sum and then a copy for the modes that show how it was done before.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "volume/stream_file.hpp"
#include "weir/base/data.hpp"
#include "weir/checksum/copy_and_sum.hpp"
#include "weir/checksum/parallel_adler32.hpp"
#include "weir/event/event_pieces.hpp"
#include "weir/recorder/recorder_options.hpp"

namespace weir::recorder {

/// Called from any thread at once.
class EventCopier {
public:
    EventCopier(const RecorderOptions& options, checksum::Stores stores);
    ~EventCopier();

    /// A whole event whose crc32c is known from the protocol.
    [[nodiscard]] EventSums copy(ConstData event, std::uint32_t crc32c, const Place& place) const;

    /// A cut event: its crc32c is made on the way.
    [[nodiscard]] EventSums copy(const event::EventPieces& event, const Place& place) const;

private:
    [[nodiscard]] std::uint32_t sum(ConstData data, std::uint32_t value) const;

    const Mode mode_;
    const checksum::Stores stores_;
    std::unique_ptr<checksum::ParallelAdler32> parallel_;
};

}  // namespace weir::recorder
