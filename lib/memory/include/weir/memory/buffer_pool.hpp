// SPDX-License-Identifier: Apache-2.0
// Event buffers: aligned memory from a pool with a hard limit. At the limit the pool answers "full", which holds the
// senders back; it never grows. Released buffers are kept
// by size class, because fresh pages cost a fault each (about 0.1 s per GB here). Buffers of 2 MiB and more are aligned
// to huge pages, and the kernel is asked for them: one fault then brings 2 MiB.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/data.hpp"

namespace weir::memory {

class BufferPool;

/// The memory of a buffer.
struct BufferMemory {
    std::byte* data = nullptr;
    std::size_t capacity = 0;
    bool transparent = false;  // the kernel accepted the hint that huge pages are welcome
};

/// Memory from a pool. Moving it is the handover, destroying it releases the memory (from any thread).
class Buffer {
public:
    Buffer() = default;
    Buffer(Buffer&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)),
          memory_(std::exchange(other.memory_, {})),
          size_(std::exchange(other.size_, 0)) {}
    Buffer& operator=(Buffer&& other) noexcept {
        if (this != &other) {
            release();
            pool_ = std::exchange(other.pool_, nullptr);
            memory_ = std::exchange(other.memory_, {});
            size_ = std::exchange(other.size_, 0);
        }
        return *this;
    }
    ~Buffer() { release(); }

    [[nodiscard]] MutableData data() noexcept { return {memory_.data, size_}; }
    [[nodiscard]] ConstData data() const noexcept { return {memory_.data, size_}; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t capacity() const noexcept { return memory_.capacity; }
    [[nodiscard]] explicit operator bool() const noexcept { return memory_.data != nullptr; }

    /// Releases the memory now.
    void release() noexcept;

private:
    friend class BufferPool;
    Buffer(BufferPool* pool, const BufferMemory& memory, std::size_t size) noexcept
        : pool_(pool), memory_(memory), size_(size) {}

    BufferPool* pool_ = nullptr;
    BufferMemory memory_;
    std::size_t size_ = 0;
};

/// The pages of buffers of 2 MiB and more.
enum class HugePages : std::uint8_t {
    none,
    transparent,  // a hint; the kernel gives huge pages when it has them
};

/// All calls from any thread. The pool outlives its buffers.
class BufferPool {
public:
    static constexpr std::size_t alignment = 4096;      // direct I/O and page granularity
    static constexpr std::size_t huge_page = 2U << 20;  // alignment of buffers of this size and more

    struct Stats {
        Bytes limit, in_use, kept;  // kept: free, ready for the next buffer of its class
        std::uint64_t taken = 0;    // buffers handed out so far
        std::uint64_t refused = 0;  // answers "full" so far
        Bytes transparent;          // of what is held: where the kernel accepted the hint
    };

    explicit BufferPool(Bytes limit, HugePages huge_pages = HugePages::transparent);
    ~BufferPool();
    BufferPool(const BufferPool&) = delete;
    BufferPool& operator=(const BufferPool&) = delete;

    /// A buffer of `size` bytes (content undefined), aligned to `alignment`; nothing when the pool is full.
    /// A size whose class exceeds the whole limit can never be had: check against `largest()` first.
    [[nodiscard]] std::optional<Buffer> try_take(std::size_t size);

    /// Releases buffers of this pool at once: cheaper than one by one.
    void release(std::span<Buffer> buffers) noexcept;

    /// The largest size that an empty pool can hand out.
    [[nodiscard]] std::size_t largest() const noexcept;

    /// `freed` is called after a buffer was released, but only when try_take() was refused since the last call. The
    /// releasing thread calls it, which must not be held up. Returns a ticket.
    /// Must not call subscribe() or unsubscribe(). After unsubscribe() it is not called any more.
    [[nodiscard]] std::size_t subscribe(std::function<void()> freed);
    void unsubscribe(std::size_t ticket);

    [[nodiscard]] Stats stats() const;

private:
    friend class Buffer;

    // Classes: 4 steps per power of two, from one page up; at most 25 % of a buffer is unused.
    static std::size_t class_of(std::size_t size) noexcept;
    static std::size_t capacity_of(std::size_t size_class) noexcept;
    void release(const BufferMemory& memory) noexcept;
    void keep(const BufferMemory& memory) noexcept;  // with the lock held
    void notify() noexcept;
    bool make_room(std::size_t capacity);
    BufferMemory map(std::size_t capacity) noexcept;
    void unmap(const BufferMemory& memory) noexcept;

    static constexpr std::size_t class_count = 4 * 30;
    mutable std::mutex mutex_;
    const std::size_t limit_;
    const HugePages huge_pages_;
    std::size_t transparent_ = 0;
    std::size_t in_use_ = 0;
    std::size_t kept_ = 0;
    std::uint64_t taken_ = 0;
    std::uint64_t refused_ = 0;
    bool taker_refused_ = false;
    std::array<std::vector<BufferMemory>, class_count> free_;
    std::mutex subscribers_mutex_;  // held while they are called; never with mutex_
    std::vector<std::function<void()>> subscribers_;
};

}  // namespace weir::memory
