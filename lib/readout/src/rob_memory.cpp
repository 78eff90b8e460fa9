// SPDX-License-Identifier: Apache-2.0
#include "rob_memory.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "weir/base/assert.hpp"

namespace weir::readout {
namespace {

constexpr std::size_t page = memory::BufferPool::alignment;
constexpr std::size_t line = 64;  // pieces begin at a cache line
/// More than the pieces of any shared buffer: `users` stays above it while the buffer is being filled.
constexpr std::uint32_t filling = 1U << 30;

constexpr std::size_t in_lines(std::size_t size) noexcept { return (size + line - 1) / line * line; }

}  // namespace

/// At the begin of its own buffer.
struct alignas(line) RobMemory::Shared {
    explicit Shared(memory::Buffer mine) : buffer(std::move(mine)) {}

    /// While it is being filled: all its pieces were released.
    [[nodiscard]] bool is_unused() const noexcept { return users.load(std::memory_order_acquire) == filling - pieces; }
    void begin_again() noexcept {
        used = head;
        pieces = 0;
        users.store(filling, std::memory_order_relaxed);
    }
    /// Its memory is that of the buffer only.
    [[nodiscard]] memory::Buffer end() noexcept {
        auto mine = std::move(buffer);
        this->~Shared();
        return mine;
    }

    static const std::size_t head;
    memory::Buffer buffer;
    std::size_t used = head;   // with `pieces`: by the thread that has the open buffer, while it is being filled
    std::uint32_t pieces = 0;  // given so far
    // Pieces given and not released; while it is being filled, `filling` less those released. Who takes the last one
    // away returns the buffer: acquire, with the release of the others.
    std::atomic<std::uint32_t> users{filling};
};

const std::size_t RobMemory::Shared::head = in_lines(sizeof(Shared));

RobMemory::RobMemory(Bytes bytes_max, std::size_t shared_size)
    : bytes_max_(bytes_max.count()),
      pool_(bytes_max),
      largest_(pool_.largest()),
      shared_size_(std::max(shared_size / page * page, page)) {}

RobMemory::~RobMemory() { idle(); }

/// Has an open buffer, or not: without a wait.
class RobMemory::Held {
public:
    explicit Held(Open& open) : open_(open), held_(!open.taken.test_and_set(std::memory_order_acquire)) {}
    ~Held() {
        if (held_) open_.taken.clear(std::memory_order_release);
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    explicit operator bool() const noexcept { return held_; }

private:
    Open& open_;
    const bool held_;
};

std::optional<memory::Buffer> RobMemory::take_buffer(std::size_t size, std::size_t left) {
    const auto taken = taken_.load(std::memory_order_relaxed) + left;
    if (left > 0 && size > (taken >= bytes_max_ ? 0 : bytes_max_ - taken)) return std::nullopt;
    auto buffer = pool_.try_take(size);
    if (buffer) taken_.fetch_add(buffer->capacity(), std::memory_order_relaxed);
    return buffer;
}

std::optional<RobMemory::Piece> RobMemory::try_take(std::size_t size, std::size_t left) {
    if (in_lines(size) + in_lines(sizeof(Shared)) <= shared_size_ / 2) {
        if (auto piece = take_shared(size, left)) return piece;
    }
    auto own = take_buffer(size, left);
    if (!own && close_unused()) own = take_buffer(size, left);
    if (!own) return std::nullopt;
    const auto data = own->data();
    return Piece{.data = data, .shared = nullptr, .own = std::move(*own)};
}

std::optional<RobMemory::Piece> RobMemory::take_shared(std::size_t size, std::size_t left) {
    for (auto& open : open_) {
        const Held held(open);
        if (held) return take_from(open, size, left);
    }
    return std::nullopt;
}

std::optional<RobMemory::Piece> RobMemory::take_from(Open& open, std::size_t size, std::size_t left) {
    const auto room = in_lines(size);
    // Not out of an open buffer either: whoever leaves nothing may have opened it.
    if (left > 0 && taken_.load(std::memory_order_relaxed) + left > bytes_max_) return std::nullopt;
    if (open.shared != nullptr && open.shared->buffer.size() - open.shared->used < room) {
        if (open.shared->is_unused()) {
            open.shared->begin_again();
        } else {
            close(open);
        }
    }
    if (open.shared == nullptr) {
        auto buffer = take_buffer(shared_size_, left);
        if (!buffer) return std::nullopt;
        auto* const begin = buffer->data().data();
        open.shared = new (begin) Shared(std::move(*buffer));
    }
    auto& shared = *open.shared;
    const auto data = shared.buffer.data().subspan(shared.used, size);
    shared.used += room;
    ++shared.pieces;
    const auto next = shared.buffer.data().subspan(shared.used);  // will be written soon
    for (std::size_t at = 0; at < std::min(room, next.size()); at += line) __builtin_prefetch(&next[at], 1);
    return Piece{.data = data, .shared = &shared, .own = {}};
}

/// The last of its pieces returns it from now on.
void RobMemory::close(Open& open) noexcept {
    auto& shared = *std::exchange(open.shared, nullptr);
    const auto more = filling - shared.pieces;
    if (shared.users.fetch_sub(more, std::memory_order_acq_rel) != more) return;
    const auto buffer = shared.end();
    taken_.fetch_sub(buffer.capacity(), std::memory_order_relaxed);
}

/// False: there was none.
bool RobMemory::close_unused() {
    bool closed = false;
    for (auto& open : open_) {
        const Held held(open);
        if (!held || open.shared == nullptr || !open.shared->is_unused()) continue;
        close(open);
        closed = true;
    }
    return closed;
}

void RobMemory::Released::add(Shared& shared) noexcept {
    if (&shared != shared_) leave();
    shared_ = &shared;
    ++pieces_;
}

void RobMemory::Released::leave() noexcept {
    if (shared_ == nullptr) return;
    auto& shared = *std::exchange(shared_, nullptr);
    const auto pieces = std::exchange(pieces_, 0U);
    if (shared.users.fetch_sub(pieces, std::memory_order_acq_rel) != pieces) return;
    buffers_.push_back(shared.end());
}

void RobMemory::Released::done() {
    leave();
    std::size_t bytes = 0;
    for (const auto& buffer : buffers_) bytes += buffer.capacity();
    memory_.taken_.fetch_sub(bytes, std::memory_order_relaxed);
    memory_.pool_.release(buffers_);
    buffers_.clear();
}

}  // namespace weir::readout
