// SPDX-License-Identifier: Apache-2.0
#include "disk/disk_watch.hpp"

#include <cerrno>

namespace weir::recorder {
namespace {

template <class Call>
auto counted(DiskWatch& watch, Call call) {
    watch.begin();
    const auto got = call();
    const int why = errno;
    watch.end();
    errno = why;
    return got;
}

}  // namespace

int DiskWatch::open(const char* path, int flags, mode_t mode) {
    return counted(*this, [&] { return system_.open(path, flags, mode); });
}
int DiskWatch::close(int fd) {
    return counted(*this, [&] { return system_.close(fd); });
}
ssize_t DiskWatch::pread(int fd, void* to, std::size_t size, off_t offset) {
    return counted(*this, [&] { return system_.pread(fd, to, size, offset); });
}
ssize_t DiskWatch::pwrite(int fd, const void* from, std::size_t size, off_t offset) {
    return counted(*this, [&] { return system_.pwrite(fd, from, size, offset); });
}
int DiskWatch::fdatasync(int fd) {
    return counted(*this, [&] { return system_.fdatasync(fd); });
}
int DiskWatch::fsync(int fd) {
    return counted(*this, [&] { return system_.fsync(fd); });
}
int DiskWatch::ftruncate(int fd, off_t size) {
    return counted(*this, [&] { return system_.ftruncate(fd, size); });
}
int DiskWatch::rename_new(const char* from, const char* to) {
    return counted(*this, [&] { return system_.rename_new(from, to); });
}
int DiskWatch::unlink(const char* path) {
    return counted(*this, [&] { return system_.unlink(path); });
}
int DiskWatch::fallocate(int fd, int mode, off_t offset, off_t size) {
    return counted(*this, [&] { return system_.fallocate(fd, mode, offset, size); });
}
int DiskWatch::statvfs(const char* path, struct ::statvfs* status) {
    return counted(*this, [&] { return system_.statvfs(path, status); });
}

}  // namespace weir::recorder
