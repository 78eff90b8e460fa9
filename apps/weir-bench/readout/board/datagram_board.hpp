// SPDX-License-Identifier: Apache-2.0
// A board outside weir that can do nothing but send datagrams (docs/formats/input-udp.md), on a thread of its own: one
// source or more, whole fragments, level-1 ids from 1 on, as fast as its socket takes them. Nothing holds it back, but
// for a limit that it is given.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "weir/base/ids.hpp"
#include "weir/base/named_thread.hpp"
#include "weir/base/result.hpp"
#include "weir/transport/socket.hpp"

namespace weir::app {

struct DatagramBoardOptions {
    SourceId source{0x420000};  // the first
    std::uint32_t sources = 1;  // that follow each other, one fragment of each in an event
    std::uint32_t fragment_size = 1000;
    /// How many fragments it may have sent by now: the busy of its trigger unit. Called by its thread. Null: any
    /// number.
    std::function<std::uint64_t()> sent_max{};
};

class DatagramBoard {
public:
    static constexpr std::size_t header_size = 40;

    /// Sends over a connected socket that waits, until it is destroyed.
    DatagramBoard(transport::Socket connection, DatagramBoardOptions options);

    [[nodiscard]] std::uint64_t sent() const noexcept { return sent_.load(std::memory_order_relaxed); }

    /// A socket that waits, connected to a port of this machine.
    [[nodiscard]] static Result<transport::Socket> connect(std::uint16_t port);

private:
    static constexpr std::size_t batch = 32;
    void run(const std::stop_token& stop);
    void place(std::uint32_t in_batch, std::uint64_t fragment);

    const transport::Socket connection_;
    const DatagramBoardOptions options_;
    std::vector<std::byte> payload_;
    std::array<std::array<std::byte, header_size>, batch> heads_{};
    std::array<std::array<iovec, 2>, batch> pieces_{};
    std::array<mmsghdr, batch> messages_{};
    std::atomic<std::uint64_t> sent_{0};  // relaxed: a figure
    NamedThread thread_;
};

}  // namespace weir::app
