// SPDX-License-Identifier: Apache-2.0
#include "weir/memory/arena.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace weir::memory {
namespace {

constexpr std::size_t alignment_of_chunks = 64;
constexpr std::size_t growth_max = 1U << 20;

}  // namespace

Arena::Arena(Options options) noexcept : options_(options) {
    // No object is larger; and no sum of a size below this and an alignment wraps, here or in upstream.
    options_.limit = std::min(options_.limit, Bytes{PTRDIFF_MAX});
}

Arena::~Arena() {
    while (first_ != nullptr) release(std::exchange(first_, first_->next));
}

std::size_t Arena::in_use() const noexcept {
    if (current_ == nullptr) return 0;
    return used_before_ + static_cast<std::size_t>(next_ - reinterpret_cast<std::byte*>(current_ + 1));
}

void Arena::use(Chunk& chunk) noexcept {
    current_ = &chunk;
    next_ = reinterpret_cast<std::byte*>(&chunk + 1);
    end_ = reinterpret_cast<std::byte*>(&chunk) + chunk.size;
}

void Arena::release(Chunk* chunk) noexcept {
    const std::size_t size = chunk->size;
    from_upstream_ -= size;
    unpoison(chunk, size);
    options_.upstream->deallocate(chunk, size, alignment_of_chunks);
}

// The new chunk comes behind the current one; those that follow already are used when it is full.
bool Arena::new_chunk(std::size_t least) noexcept {
    if (least > options_.limit.count()) return false;
    const std::size_t room = options_.limit.count() - from_upstream_;
    if (least > room) return false;
    const std::size_t chunk_min = options_.chunk.count();
    const std::size_t wish = std::clamp(from_upstream_, chunk_min, std::max(growth_max, chunk_min));
    const std::size_t size = std::max(least, std::min(wish, room));
    void* memory = nullptr;
    try {
        memory = options_.upstream->allocate(size, alignment_of_chunks);
    } catch (const std::bad_alloc&) {
        return false;
    }
    auto* const chunk = ::new (memory) Chunk{nullptr, size};
    poison(chunk + 1, size - sizeof(Chunk));
    from_upstream_ += size;
    ++chunks_;
    Chunk*& before = current_ == nullptr ? first_ : current_->next;
    chunk->next = std::exchange(before, chunk);
    return true;
}

void* Arena::take_slowly(std::size_t size, std::size_t alignment) noexcept {
    const std::size_t extra = sizeof(Chunk) + alignment;
    const std::size_t limit = options_.limit.count();
    const bool possible = extra <= limit && size <= limit - extra;
    Chunk* following = current_ == nullptr ? first_ : current_->next;
    if (!possible || ((following == nullptr || following->size < size + extra) && !new_chunk(size + extra))) {
        ++refused_;
        return nullptr;
    }
    used_before_ = in_use();
    use(current_ == nullptr ? *first_ : *current_->next);
    const std::size_t gap = -reinterpret_cast<std::uintptr_t>(next_) & (alignment - 1);
    std::byte* const data = next_ + gap;
    next_ = data + size;
    unpoison(data, size);
    return data;
}

void Arena::reset() noexcept {
    ++resets_;
    in_use_max_ = std::max(in_use_max_, in_use());
    used_before_ = 0;
    std::size_t kept = 0;
    for (Chunk** link = &first_; *link != nullptr;) {
        Chunk* const chunk = *link;
        if (kept + chunk->size > options_.keep.count()) {
            *link = chunk->next;
            release(chunk);
        } else {
            kept += chunk->size;
            poison(chunk + 1, chunk->size - sizeof(Chunk));
            link = &chunk->next;
        }
    }
    current_ = nullptr;
    next_ = nullptr;
    end_ = nullptr;
    if (first_ != nullptr) use(*first_);
}

Arena::Stats Arena::stats() const noexcept {
    const std::size_t now = in_use();
    return {taken_, resets_, refused_, chunks_, Bytes{now}, Bytes{std::max(in_use_max_, now)}, Bytes{from_upstream_}};
}

}  // namespace weir::memory
