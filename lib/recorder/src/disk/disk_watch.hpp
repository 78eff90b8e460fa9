// SPDX-License-Identifier: Apache-2.0
// Distinguishes a disk that hangs from one that is slow: calls to it are in flight, and for long none has ended.
// It stands between a volume and its file system and counts; io_uring's writes are counted by hand.
#pragma once

#include <atomic>
#include <chrono>

#include "weir/base/clock.hpp"
#include "weir/base/file.hpp"

namespace weir::recorder {

class DiskWatch final : public FileSystem {
public:
    DiskWatch(FileSystem& system, const Clock& clock) : system_(system), clock_(clock), changed_(stamp()) {}

    /// Any thread; each begin() has its end().
    void begin() noexcept {
        if (in_flight_.fetch_add(1, std::memory_order_relaxed) == 0) changed_.store(stamp(), std::memory_order_relaxed);
    }
    void end() noexcept {
        changed_.store(stamp(), std::memory_order_relaxed);
        in_flight_.fetch_sub(1, std::memory_order_relaxed);
    }

    /// A call that FileSystem does not have.
    template <class Call>
    [[nodiscard]] auto watched(Call call) {
        begin();
        auto got = call();
        end();
        return got;
    }

    /// How long calls have been in flight without one of them ending; zero when none is.
    [[nodiscard]] std::chrono::nanoseconds silence() const noexcept {
        if (in_flight_.load(std::memory_order_relaxed) == 0) return {};
        return clock_.now() - SteadyTime(SteadyTime::duration(changed_.load(std::memory_order_relaxed)));
    }

    /// Calls that are in flight.
    [[nodiscard]] int in_flight() const noexcept { return in_flight_.load(std::memory_order_relaxed); }

    int open(const char* path, int flags, mode_t mode) override;
    int close(int fd) override;
    ssize_t pread(int fd, void* to, std::size_t size, off_t offset) override;
    ssize_t pwrite(int fd, const void* from, std::size_t size, off_t offset) override;
    int fdatasync(int fd) override;
    int fsync(int fd) override;
    int ftruncate(int fd, off_t size) override;
    int rename_new(const char* from, const char* to) override;
    int unlink(const char* path) override;
    int fallocate(int fd, int mode, off_t offset, off_t size) override;
    int statvfs(const char* path, struct ::statvfs* status) override;

private:
    [[nodiscard]] SteadyTime::rep stamp() const noexcept { return clock_.now().time_since_epoch().count(); }

    FileSystem& system_;
    const Clock& clock_;
    std::atomic<int> in_flight_{0};
    std::atomic<SteadyTime::rep> changed_;  // when the last call ended, or the first one began
};

}  // namespace weir::recorder
