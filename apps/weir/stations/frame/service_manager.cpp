// SPDX-License-Identifier: Apache-2.0
#include "stations/frame/service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace weir::app {

ServiceManager ServiceManager::from_environment() {
    const char* path = std::getenv("NOTIFY_SOCKET");
    sockaddr_un address{};
    if (path == nullptr || (path[0] != '/' && path[0] != '@') || std::strlen(path) >= sizeof(address.sun_path))
        return ServiceManager(Descriptor());
    address.sun_family = AF_UNIX;
    const auto size = std::strlen(path);
    std::memcpy(address.sun_path, path, size);
    if (path[0] == '@') address.sun_path[0] = '\0';  // a name without a file
    Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size);
    if (socket && ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0)
        return ServiceManager(std::move(socket));
    return ServiceManager(Descriptor());
}

void ServiceManager::notify(const std::string& text) const {
    // A manager that does not read (its queue is full) must not hold up the recorder.
    if (socket_) static_cast<void>(::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL));
}

bool WritePathWatch::alive(const recorder::RecorderSummary& now) {
    bool alive = true;
    before_.resize(now.duties.size());
    for (std::size_t i = 0; i < now.duties.size(); ++i) {
        const auto before = std::exchange(before_[i], now.duties[i].done);
        if (now.duties[i].has_work && now.duties[i].done == before) alive = false;
    }
    return alive;
}

}  // namespace weir::app
