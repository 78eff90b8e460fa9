// SPDX-License-Identifier: Apache-2.0
// The real file system, except where a test has a rule, call by call.
#pragma once

#include <atomic>
#include <cerrno>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "weir/base/file.hpp"

namespace weir::recorder {

enum class Call { open, close, pwrite, fdatasync, fsync, ftruncate, rename_new, fallocate };

/// The real file system, but a rule may return for each call the errno that it ends with (0: it is made).
class Faulty : public FileSystem {
public:
    using Rule = std::function<int(Call call, const std::string& path)>;

    void set(Rule rule) {
        const std::scoped_lock lock(mutex_);
        rule_ = std::move(rule);
    }
    /// The nth call of this kind for a path with this part, and the `count` - 1 after it.
    void fail(Call which, std::string part, int error, int nth = 1, int count = 1) {
        set([=, seen = 0](Call call, const std::string& path) mutable {
            if (call != which || path.find(part) == std::string::npos) return 0;
            ++seen;
            return seen >= nth && seen < nth + count ? error : 0;
        });
    }
    void clear() { set({}); }
    /// Calls of which `which` is true do not return while `for_ever` is.
    void hang(std::function<bool(Call, const std::string&)> which, const std::atomic<bool>& for_ever) {
        const std::scoped_lock lock(mutex_);
        rule_ = [which = std::move(which), &for_ever](Call call, const std::string& path) {
            return which(call, path) && for_ever ? hangs : 0;
        };
        for_ever_ = &for_ever;
    }
    /// Before the next call of this kind for a path with this part is made, its thread does this, once.
    void before(Call which, std::string part, std::function<void()> meanwhile) {
        const std::scoped_lock lock(mutex_);
        before_ = {which, std::move(part), std::move(meanwhile)};
    }
    [[nodiscard]] int fired() const {
        const std::scoped_lock lock(mutex_);
        return fired_;
    }
    /// What statvfs returns; negative: the truth.
    std::atomic<std::int64_t> free_blocks{-1};

    int open(const char* path, int flags, mode_t mode) override {
        if (failed(Call::open, path)) return -1;
        const int fd = FileSystem::open(path, flags, mode);
        const std::scoped_lock lock(mutex_);
        paths_[fd] = path;
        return fd;
    }
    int close(int fd) override {
        const bool fails = failed(Call::close, path_of(fd));
        const int why = errno;
        const int got = FileSystem::close(fd);
        return fails ? (errno = why, -1) : got;
    }
    ssize_t pwrite(int fd, const void* from, std::size_t size, off_t offset) override {
        if (failed(Call::pwrite, path_of(fd))) {
            const int why = errno;  // half of it is there already: what is torn must do no harm
            if (why != ENOTRECOVERABLE) static_cast<void>(FileSystem::pwrite(fd, from, size / 2, offset));
            return errno = why, -1;
        }
        return FileSystem::pwrite(fd, from, size, offset);
    }
    int fdatasync(int fd) override { return failed(Call::fdatasync, path_of(fd)) ? -1 : 0; }
    int fsync(int fd) override { return failed(Call::fsync, path_of(fd)) ? -1 : 0; }
    int ftruncate(int fd, off_t size) override {
        return failed(Call::ftruncate, path_of(fd)) ? -1 : FileSystem::ftruncate(fd, size);
    }
    int rename_new(const char* from, const char* to) override {
        return failed(Call::rename_new, from) ? -1 : FileSystem::rename_new(from, to);
    }
    int fallocate(int fd, int mode, off_t offset, off_t size) override {
        return failed(Call::fallocate, path_of(fd)) ? -1 : FileSystem::fallocate(fd, mode, offset, size);
    }
    int statvfs(const char* path, struct ::statvfs* status) override {
        const int got = FileSystem::statvfs(path, status);
        if (const auto blocks = free_blocks.load(); blocks >= 0) {
            status->f_frsize = 4096;
            status->f_bavail = static_cast<fsblkcnt_t>(blocks);
        }
        return got;
    }

private:
    std::string path_of(int fd) const {
        const std::scoped_lock lock(mutex_);
        const auto found = paths_.find(fd);
        return found == paths_.end() ? "" : found->second;
    }
    bool failed(Call call, const std::string& path) {
        std::unique_lock lock(mutex_);
        if (before_.meanwhile && call == before_.which && path.find(before_.part) != std::string::npos) {
            const auto meanwhile = std::exchange(before_.meanwhile, {});
            lock.unlock();
            meanwhile();
            lock.lock();
        }
        const int error = rule_ ? rule_(call, path) : 0;
        if (error == 0) return false;
        ++fired_;
        if (error == hangs) {
            const auto& for_ever = *for_ever_;
            lock.unlock();
            for_ever.wait(true);
        }
        errno = error;
        return true;
    }

    mutable std::mutex mutex_;
    static constexpr int hangs = -1;
    Rule rule_;
    struct {
        Call which{};
        std::string part;
        std::function<void()> meanwhile;
    } before_;
    const std::atomic<bool>* for_ever_ = nullptr;
    std::map<int, std::string> paths_;
    int fired_ = 0;
};

}  // namespace weir::recorder
