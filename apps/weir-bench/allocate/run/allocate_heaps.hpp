// SPDX-License-Identifier: Apache-2.0
// What `weir bench allocate` compares, each as a Heap: an allocator for containers, and a Place for everything that one
// event allocates. Most have nothing to do for a place; an arena is one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <new>

#include "allocate/run/free_lists.hpp"
#include "weir/memory/arena.hpp"
#include "weir/memory/migrating_pool.hpp"

namespace weir::app {

/// operator new: glibc's, or that of the library which was loaded before it.
struct GeneralHeap {
    template <class T>
    using Allocator = std::allocator<T>;

    struct Place {
        explicit Place(GeneralHeap&) noexcept {}
        [[nodiscard]] Allocator<std::byte> allocator() const noexcept { return {}; }
        void recycle() noexcept {}
    };
    [[nodiscard]] static std::uint64_t corrections() noexcept { return 0; }
};

/// For containers: memory from one `Source`, which outlives them.
template <class T, class Source>
struct SourceAllocator {
    using value_type = T;
    explicit SourceAllocator(Source& from) noexcept : source(&from) {}
    template <class Other>
    SourceAllocator(const SourceAllocator<Other, Source>& other) noexcept : source(other.source) {}
    [[nodiscard]] T* allocate(std::size_t count) { return static_cast<T*>(source->take(count * sizeof(T))); }
    void deallocate(T* memory, std::size_t count) noexcept { source->give(memory, count * sizeof(T)); }
    template <class Other>
    bool operator==(const SourceAllocator<Other, Source>& other) const noexcept {
        return source == other.source;
    }
    Source* source;
};

struct LockedHeap {
    template <class T>
    using Allocator = SourceAllocator<T, LockedPool>;

    struct Place {
        explicit Place(LockedHeap& heap) noexcept : pool(heap.pool) {}
        [[nodiscard]] Allocator<std::byte> allocator() const noexcept { return Allocator<std::byte>(pool); }
        void recycle() noexcept {}
        LockedPool& pool;
    };
    [[nodiscard]] static std::uint64_t corrections() noexcept { return 0; }

    LockedPool pool;
};

struct NaiveHeap {
    template <class T>
    struct Allocator {
        using value_type = T;
        Allocator() = default;
        template <class Other>
        Allocator(const Allocator<Other>&) noexcept {}
        [[nodiscard]] T* allocate(std::size_t count) { return static_cast<T*>(NaivePools::take(count * sizeof(T))); }
        void deallocate(T* memory, std::size_t count) noexcept { NaivePools::give(memory, count * sizeof(T)); }
        template <class Other>
        bool operator==(const Allocator<Other>&) const noexcept {
            return true;
        }
    };

    struct Place {
        explicit Place(NaiveHeap&) noexcept {}
        [[nodiscard]] Allocator<std::byte> allocator() const noexcept { return {}; }
        void recycle() noexcept {}
    };
    [[nodiscard]] static std::uint64_t corrections() noexcept { return 0; }
};

struct MigratingHeap {
    template <class T>
    using Allocator = memory::MigratingAllocator<T>;

    struct Place {
        explicit Place(MigratingHeap& heap) noexcept : pool(heap.pool) {}
        [[nodiscard]] Allocator<std::byte> allocator() const noexcept { return Allocator<std::byte>(pool); }
        void recycle() noexcept {}
        memory::MigratingPool& pool;
    };
    [[nodiscard]] std::uint64_t corrections() const { return pool.stats().corrections; }

    memory::MigratingPool pool;
};

/// What an event allocates lies in its own arena; nothing is free before all of it is.
struct ArenaHeap {
    struct EventArena {
        [[nodiscard]] void* take(std::size_t bytes) {
            if (void* const memory = arena.try_take(bytes)) return memory;
            throw std::bad_alloc();
        }
        void give(void*, std::size_t) noexcept {}
        memory::Arena arena;
    };
    template <class T>
    using Allocator = SourceAllocator<T, EventArena>;

    struct Place {
        explicit Place(ArenaHeap&) {}
        [[nodiscard]] Allocator<std::byte> allocator() noexcept { return Allocator<std::byte>(arena); }
        void recycle() noexcept { arena.arena.reset(); }
        EventArena arena;
    };
    [[nodiscard]] static std::uint64_t corrections() noexcept { return 0; }
};

/// Through a std::pmr::memory_resource that all threads may use.
template <class Resource>
struct ResourceHeap {
    template <class T>
    using Allocator = std::pmr::polymorphic_allocator<T>;

    struct Place {
        explicit Place(ResourceHeap& heap) noexcept : resource(&heap.resource) {}
        [[nodiscard]] Allocator<std::byte> allocator() const noexcept { return resource; }
        void recycle() noexcept {}
        std::pmr::memory_resource* resource;
    };
    [[nodiscard]] std::uint64_t corrections() const {
        if constexpr (requires { resource.stats().corrections; }) return resource.stats().corrections;
        return 0;
    }

    Resource resource;
};

}  // namespace weir::app
