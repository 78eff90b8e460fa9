// SPDX-License-Identifier: Apache-2.0
// A thread that takes datagrams from the kernel while the station's logic computes, and hands them over by the batch.
// When the logic is behind by all batches, the thread waits and the kernel's buffer fills: losses happen there,
// and counted.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

#include "weir/base/named_thread.hpp"
#include "weir/transport/event_loop.hpp"
#include "weir/transport/udp_socket.hpp"

namespace weir::transport {

class DatagramInput {
public:
    /// Wakes `logic` when a batch is ready: once for all that it has not taken yet, or for each of them.
    DatagramInput(int fd, std::size_t batches, std::size_t batch_size, bool wake_for_each, EventLoop own,
                  const EventLoop& logic);
    ~DatagramInput();

    /// Null when none is ready. To be released.
    [[nodiscard]] DatagramBatch* take();
    void release(DatagramBatch* batch);

    [[nodiscard]] std::uint64_t wakes() const noexcept { return wakes_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t calls() const noexcept { return calls_.load(std::memory_order_relaxed); }

private:
    void run(const std::stop_token& stop);
    DatagramBatch* next_free(const std::stop_token& stop);

    const int fd_;
    const bool wake_for_each_;
    EventLoop own_;
    const EventLoop& logic_;
    std::vector<std::unique_ptr<DatagramBatch>> batches_;
    std::mutex mutex_;
    std::condition_variable_any freed_;
    std::vector<DatagramBatch*> free_;                // with mutex_
    std::deque<DatagramBatch*> ready_;                // with mutex_
    std::atomic<std::uint64_t> wakes_{0}, calls_{0};  // counters only: they order nothing
    NamedThread thread_;                              // last: it ends first
};

}  // namespace weir::transport
