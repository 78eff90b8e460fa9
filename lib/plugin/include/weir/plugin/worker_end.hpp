// SPDX-License-Identifier: Apache-2.0
// The other end of a WorkerProcess: what the programs that run a plug-in share.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/plugin/worker_message.hpp"

namespace weir::plugin {

// The descriptors that a worker process is started with.
inline constexpr int worker_socket = 3, worker_memory = 4;

/// Never left behind, even inside an endless loop: it dies with the station.
void die_with_the_station() noexcept;

/// Waits until all is here, whatever signals come. False: the station has ended.
[[nodiscard]] bool receive_from_station(MutableData to) noexcept;

/// Waits until the station has taken all. False: the station has ended.
[[nodiscard]] bool send_to_station(ConstData bytes) noexcept;

enum class Received { message, nothing, ended };
/// Of any size: the station is trusted. Waits as long for the beginning of a message.
[[nodiscard]] Received receive_message(std::uint32_t& kind, std::vector<std::byte>& body,
                                       std::chrono::nanoseconds wait);

/// The shared memory, as far as the station has made it. It may grow while a plug-in looks at it.
class SharedMemory {
public:
    /// Nothing when the memory has no such bytes. Valid until release_earlier().
    [[nodiscard]] ConstData first(std::size_t size);
    /// What first() has returned is not looked at any more.
    void release_earlier() noexcept;

private:
    struct Map {
        void* at = nullptr;
        std::size_t size = 0;
    };
    Map now_;
    std::vector<Map> earlier_;
};

}  // namespace weir::plugin
