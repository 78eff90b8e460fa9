// SPDX-License-Identifier: Apache-2.0
// Writes through io_uring (liburing, io_uring_enter(2)). Any thread submits under a lock that covers the
// submission side only; one thread reaps completions. A short write is continued from where it ended.
#include <fmt/format.h>
#include <liburing.h>

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "weir/base/assert.hpp"
#include "weir/recorder/block_writer.hpp"

namespace weir::recorder {
namespace {

class UringWriter final : public BlockWriter {
public:
    UringWriter(io_uring ring, unsigned depth, MutableData arena, bool registered)
        : ring_(ring), depth_(depth), arena_(arena), registered_(registered), reaper_([this] { reap(); }) {}

    ~UringWriter() override {
        {
            std::unique_lock lock(mutex_);
            has_room_.wait(lock, [&] { return in_flight_ == 0; });
            auto* entry = io_uring_get_sqe(&ring_);
            WEIR_ASSERT(entry != nullptr);
            io_uring_prep_nop(entry);
            io_uring_sqe_set_data(entry, nullptr);  // the reaper ends
            io_uring_submit(&ring_);
        }
        reaper_.join();
        io_uring_queue_exit(&ring_);
    }

    void submit(File& file, std::uint64_t offset, ConstData data, WriteListener& listener) override {
        auto* write = new Write{&file, offset, data, &listener, 0};
        const std::scoped_lock lock(mutex_);
        if (in_flight_ < depth_) {
            ++in_flight_;
            start(write);
        } else {
            waiting_.push_back(write);
        }
    }

    [[nodiscard]] std::string description() const override {
        return fmt::format("io_uring, direct{}", registered_ ? ", registered memory" : "");
    }

private:
    struct Write {
        File* file;
        std::uint64_t offset;
        ConstData data;
        WriteListener* listener;
        std::size_t done;
    };

    void start(Write* write) {  // with mutex_ held
        auto* entry = io_uring_get_sqe(&ring_);
        WEIR_ASSERT(entry != nullptr);  // the ring is as large as the number in flight
        const auto* from = write->data.data() + write->done;
        const auto size = static_cast<unsigned>(write->data.size() - write->done);
        const bool fixed = registered_ && from >= arena_.data() && from + size <= arena_.data() + arena_.size();
        if (fixed) {
            io_uring_prep_write_fixed(entry, write->file->fd(), from, size, write->offset + write->done, 0);
        } else {
            io_uring_prep_write(entry, write->file->fd(), from, size, write->offset + write->done);
        }
        io_uring_sqe_set_data(entry, write);
        int submitted;
        do submitted = io_uring_submit(&ring_);
        while (submitted == -EINTR || submitted == -EAGAIN || submitted == -EBUSY);
        WEIR_ASSERT(submitted >= 0);
    }

    void reap() {
        while (true) {
            io_uring_cqe* completion = nullptr;
            const int waited = io_uring_wait_cqe(&ring_, &completion);
            if (waited == -EINTR) continue;
            WEIR_ASSERT(waited == 0);
            auto* write = static_cast<Write*>(io_uring_cqe_get_data(completion));
            const int got = completion->res;
            io_uring_cqe_seen(&ring_, completion);
            // The kernel orders this after the submission, which the thread sanitizer cannot see; the lock
            // that covered the submission expresses it in terms of C++.
            {
                const std::scoped_lock submitted(mutex_);
            }
            if (write == nullptr) return;
            finish(write, got);
        }
    }

    void start_again(Write* write) {
        const std::scoped_lock lock(mutex_);
        start(write);
    }

    void finish(Write* write, int got) {
        if (got == -EINTR || got == -EAGAIN) return start_again(write);
        Result<> result;
        if (got <= 0) {
            result = fail_errno(
                got == 0 ? EIO : -got,
                fmt::format("cannot write {} at offset {}", write->file->path().native(), write->offset + write->done));
        } else {
            write->done += static_cast<std::size_t>(got);
            if (write->done < write->data.size()) return start_again(write);
        }
        {
            const std::scoped_lock lock(mutex_);
            if (waiting_.empty()) {
                --in_flight_;
            } else {
                start(waiting_.front());
                waiting_.pop_front();
            }
        }
        has_room_.notify_all();
        write->listener->written(write->offset, write->data, std::move(result));
        delete write;
    }

    io_uring ring_;
    const std::size_t depth_;
    const MutableData arena_;
    const bool registered_;
    std::mutex mutex_;  // the submission side of the ring, and the count
    std::condition_variable has_room_;
    std::size_t in_flight_ = 0;
    std::deque<Write*> waiting_;  // beyond the depth of the ring
    std::thread reaper_;
};

}  // namespace

Result<std::unique_ptr<BlockWriter>> make_uring_writer(unsigned queue_depth, MutableData arena) {
    io_uring ring{};
    const int made = io_uring_queue_init(queue_depth * 2, &ring, 0);
    if (made < 0) return fail_errno(-made, "cannot set up io_uring");
    // A registered buffer holds at most 1 GiB (io_uring_register(2)); beyond, and without the right to
    // lock memory, ordinary writes do the same a little slower.
    constexpr std::size_t registered_max = 1U << 30;
    bool registered = false;
    if (!arena.empty() && arena.size() <= registered_max) {
        const iovec whole{arena.data(), arena.size()};
        registered = io_uring_register_buffers(&ring, &whole, 1) == 0;
    }
    return std::make_unique<UringWriter>(ring, queue_depth, arena, registered);
}

}  // namespace weir::recorder
