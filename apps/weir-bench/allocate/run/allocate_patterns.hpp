// SPDX-License-Identifier: Apache-2.0
// How threads use memory in `weir bench allocate`: each for itself, 64 live events a thread; or every node is allocated
// in one thread and freed in another, with a ring of 256 events between, as a receiver hands events to a worker.
#pragma once

#include <array>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <deque>
#include <latch>
#include <optional>
#include <thread>
#include <vector>

#include "allocate/run/allocate_batches.hpp"
#include "allocate/run/allocate_objects.hpp"
#include "allocate/run/cache_line_trip.hpp"
#include "allocate/run/processor_wait.hpp"

namespace weir::app {

template <class Heap>
[[nodiscard]] AllocateFigures run_private(Heap& heap, const AllocateWork& work, std::uint64_t start_bytes) {
    AllocateFigures figures;
    std::atomic<bool> stop{false};
    Batches batches(work, stop);
    std::barrier meeting(static_cast<std::ptrdiff_t>(work.threads), [&]() noexcept { batches.next(); });
    {
        std::vector<std::jthread> threads;
        for (unsigned thread = 0; thread < work.threads; ++thread) {
            threads.emplace_back([&, thread] {
                constexpr std::uint32_t live = 64;
                std::deque<EventSlot<Heap>> slots;
                for (std::uint32_t i = 0; i < live; ++i) slots.emplace_back(heap);
                std::uint32_t seed = thread << 24;
                for (meeting.arrive_and_wait(); !batches.ended(); meeting.arrive_and_wait()) {
                    auto begin = std::chrono::steady_clock::now();
                    while (begin < batches.begin()) begin = std::chrono::steady_clock::now();
                    for (std::uint64_t i = 0; i < batches.events_per_thread(); ++i) {
                        auto& slot = slots[seed % live];
                        slot.destroy();
                        slot.make(seed++);
                    }
                    batches.window(thread, {begin, std::chrono::steady_clock::now()});
                }
            });
        }
        watch(work, start_bytes, stop, figures);
    }
    batches.give(figures);
    figures.corrections = heap.corrections();
    return figures;
}

/// Events in flight from the thread that makes them to the thread that destroys them.
template <class Heap>
class EventRing {
public:
    explicit EventRing(Heap& heap) {
        for (std::uint64_t i = 0; i < size; ++i) slots_.emplace_back(heap);
    }

    void make_until(const std::atomic<bool>& stop) {
        std::uint64_t made = 0;
        std::uint64_t freed = 0;
        while (!stop.load(std::memory_order_relaxed)) {
            if (made - freed == size) {
                freed = seen_beyond(freed_, made - size);
                continue;
            }
            slots_[made % size].make(static_cast<std::uint32_t>(made));
            made_.store(++made, std::memory_order_release);  // the consumer acquires it
        }
        made_.store(made | closed, std::memory_order_release);
    }

    void destroy_all() {
        std::uint64_t made = 0;
        for (std::uint64_t freed = 0;;) {
            if (freed == (made & ~closed)) {
                if ((made & closed) != 0) return;
                made = seen_beyond(made_, freed);
                continue;
            }
            slots_[freed % size].destroy();
            freed_.store(++freed, std::memory_order_release);  // the producer acquires it
        }
    }

    [[nodiscard]] std::uint64_t freed() const noexcept { return freed_.load(std::memory_order_relaxed); }

private:
    static constexpr std::uint64_t size = 256;
    static constexpr std::uint64_t closed = std::uint64_t{1} << 63;

    /// Waits for a moment at most for `count` to be another one than `old`.
    static std::uint64_t seen_beyond(const std::atomic<std::uint64_t>& count, std::uint64_t old) noexcept {
        for (int looks = 0; looks < 1000; ++looks) {
            if (const auto now = count.load(std::memory_order_acquire); now != old) return now;
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        }
        std::this_thread::yield();  // whom we wait for may need this very processor
        return count.load(std::memory_order_acquire);
    }

    std::deque<EventSlot<Heap>> slots_;
    alignas(64) std::atomic<std::uint64_t> made_{0};  // events, and `closed` when no more will come
    alignas(64) std::atomic<std::uint64_t> freed_{0};
};

template <class Heap>
[[nodiscard]] AllocateFigures run_producer_consumer(Heap& heap, const AllocateWork& work, std::uint64_t start_bytes) {
    AllocateFigures figures;
    std::atomic<bool> stop{false};
    EventRing<Heap> ring(heap);
    std::vector<Look> looks(static_cast<std::size_t>(work.time / look_interval) + 2);  // its memory is touched here
    looks.clear();
    std::array<TimeWindow, 2> windows;
    {
        std::array<std::optional<ProcessorWait>, 2> no_processor;
        std::latch met(2), known(3);
        CacheLineTrip trip;
        const auto thread = [&](std::size_t number, auto&& run) {
            return std::jthread([&, number, run] {
                no_processor[number].emplace();
                met.arrive_and_wait();
                if (number == 0) {
                    figures.line_trip = trip.ask();
                } else {
                    trip.answer();
                }
                known.arrive_and_wait();
                windows[number].begin = std::chrono::steady_clock::now();
                run();
                windows[number].end = std::chrono::steady_clock::now();
            });
        };
        const auto producer = thread(0, [&] { ring.make_until(stop); });
        const auto consumer = thread(1, [&] { ring.destroy_all(); });
        known.arrive_and_wait();
        watch(work, start_bytes, stop, figures, [&](SteadyTime now) {
            if (looks.size() < looks.capacity())
                looks.push_back({now, ring.freed(), {no_processor[0]->now(), no_processor[1]->now()}});
        });
    }
    if (overlap_of(windows) >= overlap_that_counts) add_batches(figures, looks);
    figures.corrections = heap.corrections();
    return figures;
}

}  // namespace weir::app
