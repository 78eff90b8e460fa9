// SPDX-License-Identifier: Apache-2.0
// The memory of one event: taken by moving a pointer, released all at once when the event is done. An arena keeps its
// chunks over reset() and serves the next event; after the first few events it needs no further memory.
//
//     Arena arena;
//     { std::pmr::vector<std::pmr::string> names(&arena); ... }   // freeing single objects does nothing
//     arena.reset();                                              // all of it is free now
//
// reset() does not destroy the objects in the arena: destroy objects that own other resources first. The arena has one
// owner at a time. It may be handed to another thread together with its event; no two threads use it at once. Under the
// address sanitizer, memory that is not taken is poisoned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>

#include "weir/base/bytes.hpp"
#include "weir/memory/poison.hpp"

namespace weir::memory {

class Arena final : public std::pmr::memory_resource {
public:
    struct Options {
        Bytes chunk = 64_KiB;   // the first; each further one is as large as all before together, up to 1 MiB (or this)
        Bytes keep = 4_MiB;     // of chunks, kept over reset(): the memory of one large event is not held for ever
        Bytes limit = 256_MiB;  // of chunks
        std::pmr::memory_resource* upstream = std::pmr::new_delete_resource();  // outlives the arena
    };

    struct Stats {
        std::uint64_t taken = 0;  // since the start
        std::uint64_t resets = 0;
        std::uint64_t refused = 0;  // answers nullptr, or std::bad_alloc
        std::uint64_t chunks = 0;   // asked of upstream since the start: stands still when the arena is warm
        Bytes in_use;               // since the last reset, with what alignment left out
        Bytes in_use_max;           // of one event
        Bytes from_upstream;        // held at the moment
    };

    Arena() : Arena(Options{}) {}
    explicit Arena(Options options) noexcept;
    ~Arena() override;
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    /// `alignment` is a power of two. nullptr: at the limit, or upstream has no more. Valid until reset().
    [[nodiscard]] void* try_take(std::size_t size, std::size_t alignment = alignof(std::max_align_t)) noexcept {
        ++taken_;
        const std::size_t gap = -reinterpret_cast<std::uintptr_t>(next_) & (alignment - 1);
        const auto room = static_cast<std::size_t>(end_ - next_);
        if (room < gap || room - gap <= size) [[unlikely]]
            return take_slowly(size, alignment);
        std::byte* const data = next_ + gap;
        next_ = data + size;
        unpoison(data, size);
        return data;
    }

    /// Everything that was taken is free.
    void reset() noexcept;

    [[nodiscard]] Stats stats() const noexcept;

private:
    struct Chunk {
        Chunk* next;
        std::size_t size;  // with this note, which lies at its begin
    };

    void* do_allocate(std::size_t size, std::size_t alignment) override {
        void* const data = try_take(size, alignment);
        if (data == nullptr) throw std::bad_alloc();
        return data;
    }
    void do_deallocate(void* data, std::size_t size, std::size_t) override { poison(data, size); }
    [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
        return this == &other;
    }

    void* take_slowly(std::size_t size, std::size_t alignment) noexcept;
    bool new_chunk(std::size_t least) noexcept;
    void use(Chunk& chunk) noexcept;
    void release(Chunk* chunk) noexcept;
    [[nodiscard]] std::size_t in_use() const noexcept;

    Options options_;
    std::byte* next_ = nullptr;
    std::byte* end_ = nullptr;
    Chunk* first_ = nullptr;
    Chunk* current_ = nullptr;
    std::size_t used_before_ = 0;  // in the chunks before the current one
    std::size_t in_use_max_ = 0;
    std::size_t from_upstream_ = 0;
    std::uint64_t taken_ = 0;
    std::uint64_t resets_ = 0;
    std::uint64_t refused_ = 0;
    std::uint64_t chunks_ = 0;
};

}  // namespace weir::memory
