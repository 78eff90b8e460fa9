// SPDX-License-Identifier: Apache-2.0
// One event in the ring of a RobStore.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "rob_memory.hpp"
#include "weir/readout/rob_store.hpp"

namespace weir::readout {

enum class SlotUse : std::uint8_t {
    free,
    held,     // an event of which something is here, or known to be lost
    cleared,  // the event was cleared, and older ones were not, or had not been
};

struct KeptRob {
    const std::byte* data = nullptr;  // in the slot's memory; null: not here
    std::uint32_t size = 0;
    bool lost = false;
};

/// A thread that fills and one that clears pass each slot to each other, so what both touch is in two lines of the
/// cache: the first, and the second where there is only one source.
struct alignas(64) RobStore::Slot {
    mutable std::mutex mutex;  // guards all but `changes`
    std::atomic<std::uint32_t> changes{0};
    Level1Id event{};
    std::uint32_t waiters = 0;
    SlotUse use = SlotUse::free;
    bool whole = false;                   // nothing more comes: ROBs that are not here are lost
    RobMemory::Shared* shared = nullptr;  // the first piece of its memory, if it is shared

    KeptRob one;                      // of the only source
    std::unique_ptr<KeptRob[]> many;  // by place of the source, where there are several; made at the first use
    MutableData room;                 // not used of the last piece
    std::size_t here = 0;
    struct Memory {
        RobMemory::Shared* shared = nullptr;
        memory::Buffer own;
    };
    std::unique_ptr<std::vector<Memory>> more;  // of its memory; made at the first use

    mutable std::condition_variable arrived;

    [[nodiscard]] KeptRob& rob(std::size_t place) noexcept { return many ? many[place] : one; }
    [[nodiscard]] const KeptRob& rob(std::size_t place) const noexcept { return many ? many[place] : one; }
};

}  // namespace weir::readout
