// SPDX-License-Identifier: Apache-2.0
// Makes the planned events. Every event is valid, and its words look like a detector's (pedestals and hits, not zeros),
// so that compression and checksums behave as they would. The same seed gives the same events, on every compiler.
#pragma once

#include <cstdint>
#include <vector>

#include "weir/base/random.hpp"
#include "weir/base/stream_tag.hpp"
#include "weir/event/event_view.hpp"
#include "weir/event/markers.hpp"
#include "weir/workload/profile.hpp"

namespace weir::workload {

struct GeneratedEvent {
    std::vector<StreamTag> tags;  // as they stand in the event
    std::vector<std::byte> bytes;
};

/// Format 5.0. ROBs hold about 1 kB each. One thread.
class EventGenerator {
public:
    EventGenerator(Profile profile, std::uint64_t seed, event::ChecksumType checksum = event::ChecksumType::none);

    /// `into` keeps its memory from event to event.
    void generate(const PlannedEvent& plan, const event::EventIds& ids, GeneratedEvent& into);

private:
    Profile profile_;
    Random random_;
    event::ChecksumType checksum_;
    std::vector<std::uint32_t> words_;
    std::vector<std::byte> robs_;
};

}  // namespace weir::workload
