// SPDX-License-Identifier: Apache-2.0
// One event in the ring of a RobStore.
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "weir/memory/buffer_pool.hpp"
#include "weir/readout/rob_store.hpp"

namespace weir::readout {

enum class SlotUse : std::uint8_t {
    free,
    held,     // an event of which something is here, or known to be lost
    cleared,  // the event was cleared, and older ones were not
};

struct KeptRob {
    const std::byte* data = nullptr;  // in one of the slot's buffers; null: not here
    std::uint32_t size = 0;
    bool lost = false;
};

struct alignas(64) RobStore::Slot {
    mutable std::mutex mutex;  // guards all but `changes`
    mutable std::condition_variable arrived;
    std::atomic<std::uint32_t> changes{0};
    std::uint32_t waiters = 0;
    Level1Id event{};
    SlotUse use = SlotUse::free;
    bool whole = false;  // nothing more comes: ROBs that are not here are lost
    std::size_t here = 0;
    std::size_t used = 0;       // bytes of the last buffer
    std::vector<KeptRob> robs;  // by place of the source
    std::vector<memory::Buffer> memory;
};

}  // namespace weir::readout
