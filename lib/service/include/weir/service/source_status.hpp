// SPDX-License-Identifier: Apache-2.0
// What a station knows of the fragments of one source in its run. A readout counts what arrived, a builder what the
// events had that it built; run control adds the two up. Each station fills in what it can know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/ids.hpp"

namespace weir::service {

struct SourceStatus {
    SourceId source{};
    bool outside = false;  // it sends from outside weir, and so may fall silent

    // Of a readout.
    std::uint64_t arrived = 0, bytes = 0;  // that were buffered
    std::uint64_t late = 0;                // arrived when their event was done with
    std::uint64_t lost = 0;  // never arrived, as far as the readout can know: a gap, a part that is missing
    std::uint64_t duplicated = 0;
    std::uint64_t disordered = 0;  // came after a later one: by UDP only
    std::uint64_t jumps = 0;       // of its counter, which are no losses: by UDP only
    std::uint64_t refused = 0;     // for any other reason: malformed, of another event, too large, no room
    std::optional<WallTime> last_seen{};

    // Of a builder or processing unit.
    std::uint64_t expected = 0;  // events that were to have a fragment of it
    std::uint64_t missing = 0;   // of these, without one
    std::uint64_t masked = 0;    // events in which it was masked: neither expected nor missing

    bool operator==(const SourceStatus&) const = default;
};

/// Adds the counts of `more`; the later of the times that it was seen.
void add(SourceStatus& sum, const SourceStatus& more) noexcept;

/// Of several stations or processes, by source.
class SourceTable {
public:
    void add(const std::vector<SourceStatus>& sources);
    [[nodiscard]] std::vector<SourceStatus> list() const;  // in the order of the ids

private:
    std::map<SourceId, SourceStatus> by_source_;
};

}  // namespace weir::service
