// SPDX-License-Identifier: Apache-2.0
// A whole event, and where it goes.
#pragma once

#include <cstdint>
#include <memory>

#include "weir/building/fragment_memory.hpp"
#include "weir/event/event_pieces.hpp"
#include "weir/wire/dataflow.hpp"

namespace weir::building {

struct BuiltEvent {
    wire::EventTicket ticket{};
    std::uint32_t robs = 0;       // of sources, the empty ones included
    std::uint32_t robs_lost = 0;  // empty ROBs in place of lost fragments
    event::EventPieces pieces{};  // lie in `memory` and in themselves
    FragmentMemory memory{};
};

/// Takes built events. The outcome of each comes later, by Builder::ended() in the builder's thread.
class BuiltSink {
public:
    virtual ~BuiltSink() = default;
    /// False: it was left as it is; the builder offers it again.
    [[nodiscard]] virtual bool take(std::unique_ptr<BuiltEvent>& event) = 0;
};

}  // namespace weir::building
