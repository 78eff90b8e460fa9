// SPDX-License-Identifier: Apache-2.0
// Waits for many sockets at once (epoll), for a wake-up from another thread (eventfd) and for a deadline.
// It has no callbacks: wait() returns what is ready, and its owner's loop stays readable. It reports a
// socket for as long as it is ready (level-triggered), so that an owner may do a bounded amount and go on.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/result.hpp"
#include "weir/transport/socket.hpp"

namespace weir::transport {

class EventLoop {
public:
    struct Ready {
        std::uint64_t token;  // as given to add()
        bool read;            // bytes, or the end of them
        bool write;
        bool gone;  // both directions are shut, or an error is pending
    };

    [[nodiscard]] static Result<EventLoop> create();
    EventLoop(EventLoop&& other) noexcept = default;
    EventLoop& operator=(EventLoop&& other) noexcept = default;

    /// From the owner's thread. `token` is never `wake_token`. A closed socket leaves by itself.
    [[nodiscard]] Result<> add(int fd, Interest interest, std::uint64_t token);
    [[nodiscard]] Result<> change(int fd, Interest interest, std::uint64_t token);
    void remove(int fd) noexcept;

    /// Waits until something is ready, wake() was called, or the deadline (nothing: no deadline). The
    /// answer is valid until the next wait(); it may be empty.
    [[nodiscard]] std::span<const Ready> wait(std::optional<SteadyTime> deadline, SteadyTime now);

    /// Lets `time` pass, to the microsecond, whatever becomes ready; wake() ends it at once, and the next wait() too.
    void pause(std::chrono::nanoseconds time) const noexcept;

    /// From any thread, also from several: the current or the next wait() returns.
    void wake() const noexcept;

    static constexpr std::uint64_t wake_token = ~std::uint64_t{0};

private:
    EventLoop(Socket epoll, Socket wake);
    static constexpr std::size_t batch = 256;
    Socket epoll_;  // Socket only because it owns a descriptor
    Socket wake_;
    std::vector<Ready> ready_;
};

}  // namespace weir::transport
