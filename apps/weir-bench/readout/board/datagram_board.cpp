// SPDX-License-Identifier: Apache-2.0
#include "readout/board/datagram_board.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "weir/base/endian.hpp"

namespace weir::app {

Result<transport::Socket> DatagramBoard::connect(std::uint16_t port) {
    transport::Socket socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (!socket || ::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return fail_errno(errno, fmt::format("cannot send datagrams to port {} of this machine", port));
    return socket;
}

DatagramBoard::DatagramBoard(transport::Socket connection, DatagramBoardOptions options)
    : connection_(std::move(connection)),
      options_(std::move(options)),
      payload_(options_.fragment_size, std::byte{0x5a}) {
    for (std::size_t i = 0; i < batch; ++i) {
        auto& head = heads_[i];
        store_little(head, 0, std::uint32_t{0x50445557});
        store_little(head, 4, std::uint16_t{1});
        store_little(head, 6, std::uint16_t{1});  // level-1 id is given
        store_little(head, 8, number(options_.source));
        store_little(head, 28, std::uint32_t{1});
        store_little(head, 32, options_.fragment_size);
        pieces_[i] = {iovec{head.data(), head.size()}, iovec{payload_.data(), payload_.size()}};
        messages_[i].msg_hdr.msg_iov = pieces_[i].data();
        messages_[i].msg_hdr.msg_iovlen = pieces_[i].size();
    }
    thread_ = NamedThread(nullptr, "board", [this](const std::stop_token& stop) { run(stop); });
}

void DatagramBoard::place(std::uint32_t in_batch, std::uint64_t fragment) {
    auto& head = heads_[in_batch];
    if (options_.sources > 1)
        store_little(head, 8, number(options_.source) + static_cast<std::uint32_t>(fragment % options_.sources));
    store_little(head, 12, static_cast<std::uint32_t>(fragment / options_.sources + 1));
}

void DatagramBoard::run(const std::stop_token& stop) {
    std::uint64_t next = 0;
    while (!stop.stop_requested()) {
        std::uint64_t most = batch;
        if (options_.sent_max) {
            const auto limit = options_.sent_max();
            most = std::min(most, limit > next ? limit - next : 0);
            if (most == 0) {
                std::this_thread::sleep_for(std::chrono::microseconds(20));
                continue;
            }
        }
        for (std::uint32_t i = 0; i < most; ++i) place(i, next + i);
        const int count = ::sendmmsg(connection_.fd(), messages_.data(), static_cast<unsigned>(most), 0);
        if (count <= 0) continue;  // a full queue; the same ids again
        next += static_cast<std::uint64_t>(count);
        sent_.store(next, std::memory_order_relaxed);
    }
}

}  // namespace weir::app
