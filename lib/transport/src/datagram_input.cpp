// SPDX-License-Identifier: Apache-2.0
#include "weir/transport/datagram_input.hpp"

#include "weir/base/thread_account.hpp"

namespace weir::transport {

DatagramInput::DatagramInput(int fd, std::size_t batches, std::size_t batch_size, bool wake_for_each, EventLoop own,
                             const EventLoop& logic)
    : fd_(fd), wake_for_each_(wake_for_each), own_(std::move(own)), logic_(logic) {
    for (std::size_t i = 0; i < batches; ++i) {
        batches_.push_back(std::make_unique<DatagramBatch>(batch_size));
        free_.push_back(batches_.back().get());
    }
    thread_ = NamedThread("datagrams", [this](const std::stop_token& stop) { run(stop); });
}

DatagramInput::~DatagramInput() {
    thread_.request_stop();
    own_.wake();
}

DatagramBatch* DatagramInput::take() {
    const std::scoped_lock lock(mutex_);
    if (ready_.empty()) return nullptr;
    auto* batch = ready_.front();
    ready_.pop_front();
    return batch;
}

void DatagramInput::release(DatagramBatch* batch) {
    {
        const std::scoped_lock lock(mutex_);
        free_.push_back(batch);
    }
    freed_.notify_one();
}

DatagramBatch* DatagramInput::next_free(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    const ScopedWait wait(WaitCause::queue);
    if (!freed_.wait(lock, stop, [&] { return !free_.empty(); })) return nullptr;
    auto* batch = free_.back();
    free_.pop_back();
    return batch;
}

void DatagramInput::run(const std::stop_token& stop) {
    while (auto* batch = next_free(stop)) {
        calls_.fetch_add(1, std::memory_order_relaxed);
        while (batch->receive(fd_) == 0) {
            static_cast<void>(own_.wait(std::nullopt, {}));
            if (stop.stop_requested()) return;
            calls_.fetch_add(1, std::memory_order_relaxed);
        }
        bool first = false;
        {
            const std::scoped_lock lock(mutex_);
            first = ready_.empty();
            ready_.push_back(batch);
        }
        if (!first && !wake_for_each_) continue;
        wakes_.fetch_add(1, std::memory_order_relaxed);
        logic_.wake();
    }
}

}  // namespace weir::transport
