// SPDX-License-Identifier: Apache-2.0
// A file descriptor that is closed with its owner: a pipe, an event counter, a directory, a local socket. Files have
// weir/base/file.hpp, which reports what close() returned; connections have weir/transport/socket.hpp.
#pragma once

#include <unistd.h>

#include <utility>

namespace weir {

class Descriptor {
public:
    explicit Descriptor(int fd = -1) noexcept : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        if (this != &other) {
            close();
            fd_ = std::exchange(other.fd_, -1);
        }
        return *this;
    }
    ~Descriptor() { close(); }

    void close() noexcept {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }
    /// Its number, which the caller closes.
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
    [[nodiscard]] int get() const noexcept { return fd_; }
    [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }

private:
    int fd_;
};

}  // namespace weir
