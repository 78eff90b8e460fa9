// SPDX-License-Identifier: Apache-2.0
#include "weir/plugin/worker_end.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <ctime>
#include <limits>

namespace weir::plugin {
void die_with_the_station() noexcept { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

bool receive_from_station(MutableData to) noexcept {
    while (!to.empty()) {
        const auto got = ::recv(worker_socket, to.data(), to.size(), MSG_WAITALL);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to = to.subspan(static_cast<std::size_t>(got));
    }
    return true;
}

bool send_to_station(ConstData bytes) noexcept {
    while (!bytes.empty()) {
        const auto sent = ::send(worker_socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
    return true;
}

Received receive_message(std::uint32_t& kind, std::vector<std::byte>& body, std::chrono::nanoseconds wait) {
    pollfd ready{.fd = worker_socket, .events = POLLIN, .revents = 0};
    const auto seconds = std::chrono::floor<std::chrono::seconds>(wait);
    const timespec limit{.tv_sec = seconds.count(), .tv_nsec = (wait - seconds).count()};
    if (::ppoll(&ready, 1, &limit, nullptr) <= 0) return Received::nothing;
    std::byte bytes[message_head];
    if (!receive_from_station(bytes)) return Received::ended;
    const auto head = read_message_head(bytes, {.kind_max = std::numeric_limits<std::uint32_t>::max(),
                                                .size_max = std::numeric_limits<std::uint32_t>::max()});
    if (!head) return Received::ended;
    kind = head->kind;
    body.resize(head->size);
    return receive_from_station(body) ? Received::message : Received::ended;
}

ConstData SharedMemory::first(std::size_t size) {
    struct stat status{};
    if (size > now_.size && ::fstat(worker_memory, &status) == 0) {
        if (now_.at != nullptr) earlier_.push_back(now_);
        now_.size = static_cast<std::size_t>(status.st_size);
        now_.at = ::mmap(nullptr, now_.size, PROT_READ, MAP_SHARED, worker_memory, 0);
        if (now_.at == MAP_FAILED) now_ = {};
    }
    if (now_.at == nullptr || size > now_.size) return {};
    return ConstData(static_cast<const std::byte*>(now_.at), size);
}

void SharedMemory::release_earlier() noexcept {
    for (const auto& map : earlier_) ::munmap(map.at, map.size);
    earlier_.clear();
}

}  // namespace weir::plugin
