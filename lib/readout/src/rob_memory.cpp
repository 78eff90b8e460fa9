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

    memory::Buffer buffer;
    std::size_t used = in_lines(sizeof(Shared));  // with used, pieces: under open_mutex_, while it is being filled
    std::uint32_t pieces = 0;                     // given so far
    // Pieces given and not released; while it is being filled, `filling` less those released. Who takes the last one
    // away returns the buffer: acquire, with the release of the others.
    std::atomic<std::uint32_t> users{filling};
};

RobMemory::RobMemory(Bytes bytes_max, std::size_t shared_size)
    : bytes_max_(bytes_max.count()),
      pool_(bytes_max),
      largest_(pool_.largest()),
      shared_size_(std::max(shared_size / page * page, page)) {}

RobMemory::~RobMemory() { idle(); }

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
    if (!own) {
        const std::scoped_lock lock(open_mutex_);
        if (open_ == nullptr || !open_is_unused()) return std::nullopt;
        close_open();
        own = take_buffer(size, left);
        if (!own) return std::nullopt;
    }
    const auto data = own->data();
    return Piece{.data = data, .shared = nullptr, .own = std::move(*own)};
}

std::optional<RobMemory::Piece> RobMemory::take_shared(std::size_t size, std::size_t left) {
    const auto room = in_lines(size);
    const std::scoped_lock lock(open_mutex_);
    if (open_ != nullptr && open_->buffer.size() - open_->used < room) {
        if (open_is_unused()) {  // from its begin again
            open_->used = in_lines(sizeof(Shared));
            open_->pieces = 0;
            open_->users.store(filling, std::memory_order_relaxed);
        } else {
            close_open();
        }
    }
    if (open_ == nullptr) {
        auto buffer = take_buffer(shared_size_, left);
        if (!buffer) return std::nullopt;
        auto* const begin = buffer->data().data();
        open_ = new (begin) Shared(std::move(*buffer));
    }
    const auto data = open_->buffer.data().subspan(open_->used, size);
    open_->used += room;
    ++open_->pieces;
    return Piece{.data = data, .shared = open_, .own = {}};
}

/// Under open_mutex_: all its pieces were released.
bool RobMemory::open_is_unused() const noexcept {
    return open_->users.load(std::memory_order_acquire) == filling - open_->pieces;
}

/// Under open_mutex_: the last of its pieces returns it from now on.
void RobMemory::close_open() noexcept {
    auto* const shared = std::exchange(open_, nullptr);
    const auto more = filling - shared->pieces;
    if (shared->users.fetch_sub(more, std::memory_order_acq_rel) != more) return;
    auto buffer = std::move(shared->buffer);
    shared->~Shared();
    taken_.fetch_sub(buffer.capacity(), std::memory_order_relaxed);
}

void RobMemory::idle() {
    const std::scoped_lock lock(open_mutex_);
    if (open_ != nullptr && open_is_unused()) close_open();
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
    auto buffer = std::move(shared.buffer);
    shared.~Shared();
    buffers_.push_back(std::move(buffer));
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
