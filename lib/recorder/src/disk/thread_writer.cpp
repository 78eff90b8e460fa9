// SPDX-License-Identifier: Apache-2.0
// Writes by pwrite in a few threads: for file systems without direct I/O (tmpfs), kernels without
// io_uring, and tests that make the file fail. A file is written by one thread at a time: the kernel locks
// the inode for the whole of a buffered write, and a second writer would only spin for it.
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "weir/recorder/block_writer.hpp"

namespace weir::recorder {
namespace {

class ThreadWriter final : public BlockWriter {
public:
    explicit ThreadWriter(unsigned threads) {
        for (unsigned i = 0; i < threads; ++i)
            threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
    }

    void submit(File& file, std::uint64_t offset, ConstData data, WriteListener& listener) override {
        const std::scoped_lock lock(mutex_);
        queue_.push_back({&file, offset, data, &listener});
        if (!being_written(&file)) has_work_.notify_one();
    }

    [[nodiscard]] std::string description() const override {
        return fmt::format("pwrite, {} threads", threads_.size());
    }

private:
    struct Write {
        File* file;
        std::uint64_t offset;
        ConstData data;
        WriteListener* listener;
    };

    [[nodiscard]] bool being_written(const File* file) const {
        return std::ranges::find(being_written_, file) != being_written_.end();
    }

    void run(const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        while (true) {
            auto next = queue_.end();
            has_work_.wait(lock, stop, [&] {
                next = std::ranges::find_if_not(queue_, [&](const Write& w) { return being_written(w.file); });
                return next != queue_.end();
            });
            if (next == queue_.end()) return;  // stopping; what is left has a thread, which returns to it
            const auto write = *next;
            queue_.erase(next);
            being_written_.push_back(write.file);
            lock.unlock();
            auto result = write.file->write_at(write.offset, write.data);
            lock.lock();
            // Before the listener is notified: from then on the file may be closed.
            being_written_.erase(std::ranges::find(being_written_, write.file));
            lock.unlock();
            write.listener->written(write.offset, write.data, std::move(result));
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable_any has_work_;
    std::deque<Write> queue_;
    std::vector<const File*> being_written_;  // as many as there are threads at most
    std::vector<std::jthread> threads_;       // the last member: they stop before what they use is gone
};

}  // namespace

std::unique_ptr<BlockWriter> make_thread_writer(unsigned threads) { return std::make_unique<ThreadWriter>(threads); }

}  // namespace weir::recorder
