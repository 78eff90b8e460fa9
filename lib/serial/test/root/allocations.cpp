// SPDX-License-Identifier: Apache-2.0
#include "allocations.hpp"

#include <cstdlib>
#include <limits>
#include <new>

thread_local std::size_t largest_allocation = 0;
thread_local std::size_t allocation_max = std::numeric_limits<std::size_t>::max();

// The address sanitizer still sees each: it is malloc's.
void* operator new(std::size_t size) {
    if (size > largest_allocation) largest_allocation = size;
    if (size > allocation_max) throw std::bad_alloc();
    if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
    throw std::bad_alloc();
}
void* operator new[](std::size_t size) { return operator new(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
