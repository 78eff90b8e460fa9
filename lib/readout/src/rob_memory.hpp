// SPDX-License-Identifier: Apache-2.0
// The memory of a store's ROBs, within a hard limit. Small pieces lie together in shared buffers of the pool, which
// several events fill one after the other and which go back whole when the last piece of them was released: a ROB of
// 1 kB then needs neither a page nor a lock of the pool for itself, and its neighbours are in the cache. Large pieces
// are buffers of their own.
//
//     shared buffer: | head | event 1 | event 2 | event 3 | free ... |      buffer of its own: | event 4 |
//
// An event that stays long keeps the whole buffer of its pieces. So shared buffers are as small as the store demands
// (`shared_size`): one that lets all its events hold a shared buffer each within a part of the limit can always go on.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/memory/buffer_pool.hpp"

namespace weir::readout {

class RobMemory {
public:
    /// A shared buffer; known by its address only.
    struct Shared;

    /// Memory of one event. What is not released is lost until the pool ends; Released does it.
    struct Piece {
        MutableData data{};
        Shared* shared = nullptr;  // lies in this one; null: in `own`
        memory::Buffer own{};
    };

    /// `shared_size`: of a shared buffer; at least a page is taken.
    RobMemory(Bytes bytes_max, std::size_t shared_size);
    ~RobMemory();
    RobMemory(const RobMemory&) = delete;
    RobMemory& operator=(const RobMemory&) = delete;

    /// Nothing: there is no room, or it would leave less than `left` bytes of the limit. Any thread.
    [[nodiscard]] std::optional<Piece> try_take(std::size_t size, std::size_t left);

    /// Releases pieces together: neighbours in a shared buffer in one step, buffers to the pool under one lock. One
    /// thread makes all calls.
    class Released {
    public:
        explicit Released(RobMemory& memory) : memory_(memory) {}
        ~Released() { done(); }
        Released(const Released&) = delete;
        Released& operator=(const Released&) = delete;

        void add(Shared& shared) noexcept;
        void add(memory::Buffer own) { buffers_.push_back(std::move(own)); }
        /// What was added is free when this returns.
        void done();

    private:
        void leave() noexcept;

        RobMemory& memory_;
        Shared* shared_ = nullptr;  // of the last pieces
        std::uint32_t pieces_ = 0;  // of them
        std::vector<memory::Buffer> buffers_;
    };

    /// Nothing is in use any more, for now: the buffers that are being filled go back too. Any thread.
    void idle() { close_unused(); }

    [[nodiscard]] std::size_t largest() const noexcept { return largest_; }  // piece that an empty pool can give
    /// Of whole buffers; more than the bytes of the pieces.
    [[nodiscard]] std::size_t taken() const noexcept { return taken_.load(std::memory_order_relaxed); }
    [[nodiscard]] Bytes in_use() const { return pool_.stats().in_use; }
    [[nodiscard]] std::size_t bytes_max() const noexcept { return bytes_max_; }

private:
    [[nodiscard]] std::optional<memory::Buffer> take_buffer(std::size_t size, std::size_t left);
    /// A shared buffer that is being filled. One thread has it at a time; another does not wait but tries the next.
    struct alignas(64) Open {
        std::atomic_flag taken{};
        Shared* shared = nullptr;
    };
    class Held;

    [[nodiscard]] std::optional<Piece> take_shared(std::size_t size, std::size_t left);
    [[nodiscard]] std::optional<Piece> take_from(Open& open, std::size_t size, std::size_t left);
    void close(Open& open) noexcept;
    bool close_unused();

    const std::size_t bytes_max_;
    memory::BufferPool pool_;
    const std::size_t largest_;
    const std::size_t shared_size_;
    std::atomic<std::size_t> taken_{0};  // relaxed: a limit that need not be exact
    std::array<Open, 4> open_;
};

}  // namespace weir::readout
