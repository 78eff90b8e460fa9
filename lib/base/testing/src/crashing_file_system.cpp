// SPDX-License-Identifier: Apache-2.0
#include "weir/base/testing/crashing_file_system.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "weir/base/assert.hpp"

namespace weir::testing {
namespace {

constexpr std::uint64_t sector = 512;

int no_power() {
    errno = EIO;
    return -1;
}

std::vector<std::byte> read_all(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::vector<char> text((std::istreambuf_iterator<char>(file)), {});
    const auto data = std::as_bytes(std::span(text));
    return {data.begin(), data.end()};
}

/// A number below `bound`, the same on every machine.
std::uint64_t below(std::mt19937_64& random, std::uint64_t bound) { return bound == 0 ? 0 : random() % bound; }

std::string parent_of(const std::string& path) { return std::filesystem::path(path).parent_path().native(); }

}  // namespace

void CrashingFileSystem::crash_at(std::uint64_t nth) {
    const std::scoped_lock lock(mutex_);
    crash_at_ = changes_ + nth;
}

void CrashingFileSystem::crash() {
    const std::scoped_lock lock(mutex_);
    lose_power();
}

void CrashingFileSystem::lose_power() {
    if (std::exchange(crashed_, true)) return;
    if (on_power_failure_) on_power_failure_();
}

bool CrashingFileSystem::crashed() const {
    const std::scoped_lock lock(mutex_);
    return crashed_;
}

std::uint64_t CrashingFileSystem::changes() const {
    const std::scoped_lock lock(mutex_);
    return changes_;
}

void CrashingFileSystem::lose_unsynced(int fd) {
    const std::scoped_lock lock(mutex_);
    auto& content = *contents_.at(fd);
    content.pending.clear();
    content.pending.push_back({content.size, std::nullopt});  // the size is kept elsewhere
}

bool CrashingFileSystem::powered() {
    if (crashed_) return false;
    ++changes_;
    if (crash_at_ && changes_ >= *crash_at_) lose_power();
    return !crashed_;
}

CrashingFileSystem::ContentPtr CrashingFileSystem::known(const std::string& path) {
    if (const auto name = names_.find(path); name != names_.end()) return name->second;
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return nullptr;
    auto content = std::make_shared<Content>();
    content->now = content->on_disk = read_all(path);
    content->size = content->on_disk.size();
    names_[path] = names_on_disk_[path] = content;
    return content;
}

int CrashingFileSystem::open(const char* path, int flags, mode_t mode) {
    const std::scoped_lock lock(mutex_);
    if (crashed_) return no_power();
    auto content = (flags & O_DIRECTORY) == 0 ? known(path) : nullptr;  // before it may be cut
    const bool creates = (flags & O_CREAT) != 0 && !content;
    const bool cuts = (flags & O_TRUNC) != 0 && content && content->size > 0;
    if ((creates || cuts) && !powered()) return no_power();
    const int fd = FileSystem::open(path, flags, mode);
    if (fd < 0) return fd;
    if ((flags & O_DIRECTORY) != 0) {
        directories_[fd] = path;
        return fd;
    }
    if (creates) {
        content = std::make_shared<Content>();
        names_[path] = content;
        pending_names_.push_back({{}, path, content});
    }
    if (cuts) {
        content->pending.push_back({0, std::nullopt});
        content->now.clear();
        content->size = 0;
    }
    contents_[fd] = content;
    return fd;
}

int CrashingFileSystem::close(int fd) {
    const std::scoped_lock lock(mutex_);
    contents_.erase(fd);
    directories_.erase(fd);
    const int closed = FileSystem::close(fd);
    return crashed_ ? no_power() : closed;
}

ssize_t CrashingFileSystem::pread(int fd, void* to, std::size_t size, off_t offset) {
    const std::scoped_lock lock(mutex_);
    return crashed_ ? no_power() : FileSystem::pread(fd, to, size, offset);
}

ssize_t CrashingFileSystem::pwrite(int fd, const void* from, std::size_t size, off_t offset) {
    const std::scoped_lock lock(mutex_);
    if (crashed_) return no_power();
    auto& content = *contents_.at(fd);
    const auto* bytes = static_cast<const std::byte*>(from);
    content.pending.push_back({static_cast<std::uint64_t>(offset), Bytes(bytes, bytes + size)});
    content.size = std::max(content.size, static_cast<std::uint64_t>(offset) + size);
    if (!powered()) return no_power();  // after: what was underway may be there
    apply(content.pending.back(), content.now);
    return FileSystem::pwrite(fd, from, size, offset);
}

int CrashingFileSystem::fdatasync(int fd) {
    const std::scoped_lock lock(mutex_);
    if (!powered()) return no_power();
    auto& content = *contents_.at(fd);
    for (const auto& change : content.pending) apply(change, content.on_disk);
    content.pending.clear();
    return 0;
}

int CrashingFileSystem::fsync(int fd) {
    {
        const std::scoped_lock lock(mutex_);
        if (const auto directory = directories_.find(fd); directory != directories_.end()) {
            if (!powered()) return no_power();
            std::erase_if(pending_names_, [&](const NameChange& change) {
                if (parent_of(change.come.empty() ? change.gone : change.come) != directory->second) return false;
                apply(change, names_on_disk_);
                return true;
            });
            return 0;
        }
    }
    return fdatasync(fd);
}

int CrashingFileSystem::ftruncate(int fd, off_t size) {
    const std::scoped_lock lock(mutex_);
    if (crashed_) return no_power();
    auto& content = *contents_.at(fd);
    if (content.size != static_cast<std::uint64_t>(size))
        content.pending.push_back({content.size = static_cast<std::uint64_t>(size), std::nullopt});
    if (!powered()) return no_power();
    content.now.resize(content.size);
    return FileSystem::ftruncate(fd, size);
}

int CrashingFileSystem::fallocate(int fd, int mode, off_t offset, off_t size) {
    const std::scoped_lock lock(mutex_);
    if (crashed_) return no_power();
    auto& content = *contents_.at(fd);
    const auto end = static_cast<std::uint64_t>(offset + size);
    if (mode == 0 && end > content.size) content.pending.push_back({content.size = end, std::nullopt});
    if (!powered()) return no_power();
    content.now.resize(content.size);
    return FileSystem::fallocate(fd, mode, offset, size);
}

int CrashingFileSystem::rename_new(const char* from, const char* to) {
    const std::scoped_lock lock(mutex_);
    if (crashed_) return no_power();
    auto content = known(from);
    const bool can = content && !known(to);
    if (can) pending_names_.push_back({from, to, content});
    if (!powered()) return no_power();
    const int renamed = FileSystem::rename_new(from, to);
    if (renamed == 0) apply(pending_names_.back(), names_);
    else if (can) pending_names_.pop_back();
    return renamed;
}

int CrashingFileSystem::unlink(const char* path) {
    const std::scoped_lock lock(mutex_);
    if (crashed_) return no_power();
    const bool can = known(path) != nullptr;
    if (can) pending_names_.push_back({path, {}, nullptr});
    if (!powered()) return no_power();
    const int removed = FileSystem::unlink(path);
    if (removed == 0) apply(pending_names_.back(), names_);
    else if (can) pending_names_.pop_back();
    return removed;
}

void CrashingFileSystem::apply(const Change& change, Bytes& to) {
    if (!change.written) return to.resize(change.offset);
    to.resize(std::max<std::size_t>(to.size(), change.offset + change.written->size()));
    std::ranges::copy(*change.written, to.begin() + static_cast<std::ptrdiff_t>(change.offset));
}

void CrashingFileSystem::apply(const NameChange& change, Names& to) {
    if (!change.gone.empty()) to.erase(change.gone);
    if (!change.come.empty()) to[change.come] = change.content;
}

CrashingFileSystem::Bytes CrashingFileSystem::content_after(const Content& content, Kept kept,
                                                            std::mt19937_64& random) {
    auto bytes = content.on_disk;
    const auto torn = [&](Change change) {  // the sectors from its begin up to some one
        const auto end = change.offset + change.written->size();
        const auto sectors = end / sector - change.offset / sector + 1;
        const auto upto = (change.offset / sector + below(random, sectors)) * sector;
        change.written->resize(upto > change.offset ? upto - change.offset : 0);
        if (!change.written->empty()) apply(change, bytes);
    };
    if (kept == Kept::nothing) return bytes;
    if (kept == Kept::reordered) {
        for (const auto& change : content.pending) {
            const auto fate = below(random, 3);
            if (fate == 0) continue;
            if (fate == 1 && change.written) torn(change);
            else apply(change, bytes);
        }
        return bytes;
    }
    const auto count = kept == Kept::everything ? content.pending.size() : below(random, content.pending.size() + 1);
    for (std::size_t i = 0; i < count; ++i) apply(content.pending[i], bytes);
    if (count < content.pending.size() && content.pending[count].written) torn(content.pending[count]);
    return bytes;
}

void CrashingFileSystem::restore(Kept kept, std::uint64_t seed) {
    const std::scoped_lock lock(mutex_);
    WEIR_ASSERT(contents_.empty());  // every file is closed
    std::mt19937_64 random(seed);
    // What others changed meanwhile, a recovery that syncs for itself, stays as it is.
    std::set<std::string> of_others;
    for (const auto& [name, content] : names_) {
        if (!std::filesystem::exists(name) || read_all(name) != content->now) of_others.insert(name);
    }
    std::set<std::string> every_name;
    for (const auto* names : {&names_, &names_on_disk_}) {
        for (const auto& [name, content] : *names) every_name.insert(name);
    }
    auto names = names_on_disk_;
    const auto first = kept == Kept::torn ? below(random, pending_names_.size() + 1) : pending_names_.size();
    for (std::size_t i = 0; i < first; ++i) {
        if (kept == Kept::nothing || (kept == Kept::reordered && below(random, 2) == 0)) continue;
        apply(pending_names_[i], names);
        every_name.insert(pending_names_[i].come);
    }
    for (const auto& name : every_name) {
        if (!of_others.contains(name)) ::unlink(name.c_str());
    }
    for (const auto& [name, content] : names) {
        if (of_others.contains(name)) continue;
        const auto bytes = content_after(*content, kept, random);
        std::ofstream file(name, std::ios::binary | std::ios::trunc);
        file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        WEIR_ASSERT(file.flush().good());
    }
    names_.clear();
    names_on_disk_.clear();
    pending_names_.clear();
    directories_.clear();
    crash_at_.reset();
    crashed_ = false;
}

}  // namespace weir::testing
