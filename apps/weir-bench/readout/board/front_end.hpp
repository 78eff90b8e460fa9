// SPDX-License-Identifier: Apache-2.0
// A board outside weir, on a thread of its own: sends blocks of fragments of one or more sources as fast as its socket
// and its credit allow (docs/formats/input-protocol.md). It makes as little as a board can: of a block that stays the
// same only sources and level-1 ids change, and so its crc32c.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "weir/base/ids.hpp"
#include "weir/base/named_thread.hpp"
#include "weir/base/result.hpp"
#include "weir/transport/socket.hpp"
#include "weir/wire/frame_header.hpp"

namespace weir::app {

struct FrontEndOptions {
    SourceId source{0x420000};  // the first
    std::uint32_t sources = 1;  // that follow each other, one fragment of each in an event
    std::uint32_t fragment_size = 1000;
    bool asks = true;  // HELLO first, and no more than the credit; false: to a loop that only reads
};

class FrontEnd {
public:
    /// Sends over a connected socket that waits, until it is destroyed or the other end has closed.
    FrontEnd(transport::Socket connection, const FrontEndOptions& options);
    ~FrontEnd();

    /// The newest level-1 id of which all is acknowledged.
    [[nodiscard]] std::uint32_t acknowledged() const noexcept { return acknowledged_.load(std::memory_order_acquire); }
    /// Why it ended by itself.
    [[nodiscard]] std::optional<Error> failure() const;

    /// A socket that waits, connected to a port of this machine.
    [[nodiscard]] static Result<transport::Socket> connect(std::uint16_t port);

private:
    [[nodiscard]] Result<> run(const std::stop_token& stop);
    [[nodiscard]] Result<> send_hello();
    [[nodiscard]] Result<> send_block();
    [[nodiscard]] Result<> send(std::span<const iovec> pieces);
    /// The answers that are there; `wait`: at least some bytes of one.
    [[nodiscard]] Result<> read_answers(bool wait);
    [[nodiscard]] Result<> answer(const wire::FrameHeader& header, ConstData meta);

    const transport::Socket connection_;
    const FrontEndOptions options_;
    std::vector<std::byte> block_, head_, in_;
    std::size_t record_size_ = 0, fragments_ = 0;  // of the block
    std::uint64_t sequence_ = 0, sent_ = 0, credit_ = 0, acknowledged_blocks_ = 0;
    std::atomic<std::uint32_t> acknowledged_{0};  // release, with acquire in acknowledged()
    mutable std::mutex mutex_;
    std::optional<Error> failure_;
    NamedThread thread_;
};

}  // namespace weir::app
