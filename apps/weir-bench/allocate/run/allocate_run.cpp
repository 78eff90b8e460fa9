// SPDX-License-Identifier: Apache-2.0
#include "allocate/run/allocate_run.hpp"

#include <memory_resource>

#include "allocate/run/allocate_heaps.hpp"
#include "allocate/run/allocate_patterns.hpp"
#include "allocate/run/resident_memory.hpp"

namespace weir::app {
namespace {

template <class Heap>
AllocateFigures run(bool passed, const AllocateWork& work) {
    const auto start_bytes = ResidentMemory().now();
    Heap heap;
    return passed ? run_producer_consumer(heap, work, start_bytes) : run_private(heap, work, start_bytes);
}

}  // namespace

AllocateFigures run_allocate_pattern(std::string_view allocator, bool passed, const AllocateWork& work) {
    if (allocator == "locked") return run<LockedHeap>(passed, work);
    if (allocator == "synchronized") return run<ResourceHeap<std::pmr::synchronized_pool_resource>>(passed, work);
    if (allocator == "naive") return run<NaiveHeap>(passed, work);
    if (allocator == "migrating") return run<MigratingHeap>(passed, work);
    if (allocator == "migrating-pmr") return run<ResourceHeap<memory::MigratingPool>>(passed, work);
    if (allocator == "arena") return run<ArenaHeap>(passed, work);
    return run<GeneralHeap>(passed, work);
}

}  // namespace weir::app
