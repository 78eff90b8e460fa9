// SPDX-License-Identifier: Apache-2.0
#include "weir/transport/event_loop.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "weir/base/assert.hpp"
#include "weir/base/thread_account.hpp"

namespace weir::transport {
namespace {

epoll_event as_event(Interest interest, std::uint64_t token) noexcept {
    epoll_event event{};
    event.events = (interest.read ? EPOLLIN : 0U) | (interest.write ? EPOLLOUT : 0U);
    event.data.u64 = token;
    return event;
}

}  // namespace

EventLoop::EventLoop(Socket epoll, Socket wake) : epoll_(std::move(epoll)), wake_(std::move(wake)) {
    ready_.reserve(batch);
}

Result<EventLoop> EventLoop::create() {
    Socket epoll(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll) return fail_errno(errno, "cannot create an event loop; raise the limit of open files");
    Socket wake(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    if (!wake) return fail_errno(errno, "cannot create the wake-up of an event loop; raise the limit of open files");
    auto event = as_event({.read = true}, wake_token);
    if (::epoll_ctl(epoll.fd(), EPOLL_CTL_ADD, wake.fd(), &event) != 0)
        return fail_errno(errno, "cannot watch the wake-up of an event loop");
    return EventLoop(std::move(epoll), std::move(wake));
}

Result<> EventLoop::add(int fd, Interest interest, std::uint64_t token) {
    WEIR_ASSERT(token != wake_token);
    auto event = as_event(interest, token);
    if (::epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, fd, &event) != 0) return fail_errno(errno, "cannot watch a socket");
    return {};
}

Result<> EventLoop::change(int fd, Interest interest, std::uint64_t token) {
    auto event = as_event(interest, token);
    if (::epoll_ctl(epoll_.fd(), EPOLL_CTL_MOD, fd, &event) != 0)
        return fail_errno(errno, "cannot change what is watched of a socket");
    return {};
}

void EventLoop::remove(int fd) noexcept { ::epoll_ctl(epoll_.fd(), EPOLL_CTL_DEL, fd, nullptr); }

std::span<const EventLoop::Ready> EventLoop::wait(std::optional<SteadyTime> deadline, SteadyTime now) {
    ready_.clear();
    int timeout_ms = -1;
    if (deadline) {
        // Rounded up: to wake a little late is right, to wake early would only come back here.
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - now).count();
        timeout_ms = static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
    }
    std::array<epoll_event, batch> events;
    int count = 0;
    {
        const ScopedWait wait(WaitCause::network);
        count = ::epoll_wait(epoll_.fd(), events.data(), static_cast<int>(events.size()), timeout_ms);
    }
    if (count < 0) {
        WEIR_ASSERT(errno == EINTR);  // anything else: we passed it something wrong
        return ready_;
    }
    for (const auto& event : std::span(events).first(static_cast<std::size_t>(count))) {
        if (event.data.u64 == wake_token) {
            std::uint64_t wakes = 0;
            static_cast<void>(!::read(wake_.fd(), &wakes, sizeof(wakes)));  // empties it; it may be empty already
            continue;
        }
        ready_.push_back({.token = event.data.u64,
                          .read = (event.events & EPOLLIN) != 0,
                          .write = (event.events & EPOLLOUT) != 0,
                          .gone = (event.events & (EPOLLHUP | EPOLLERR)) != 0});
    }
    return ready_;
}

void EventLoop::pause(std::chrono::nanoseconds time) const noexcept {
    const ScopedWait wait(WaitCause::network);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
    const timespec at_most{seconds.count(), (time - seconds).count()};
    pollfd woken{wake_.fd(), POLLIN, 0};
    static_cast<void>(::ppoll(&woken, 1, &at_most, nullptr));
}

void EventLoop::wake() const noexcept {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(wake_.fd(), &one, sizeof(one)));  // full means that a wake-up is due anyway
}

}  // namespace weir::transport
