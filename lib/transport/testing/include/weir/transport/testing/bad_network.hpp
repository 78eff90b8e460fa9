// SPDX-License-Identifier: Apache-2.0
// A network that fails on purpose: a relay on loopback that passes bytes on in pieces of any size and cuts a
// connection behind the nth byte of a direction. For tests only.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "weir/transport/socket.hpp"

namespace weir::testing {

/// Any thread. Connections to port() are passed on to `target`; one that is refused there is closed.
class BadNetwork {
public:
    enum class Way { there, back };  // from who connected to the target, or from the target

    /// All draws come from `seed`; pieces are of 1 to `piece_max` bytes.
    BadNetwork(transport::HostPort target, std::uint64_t seed, std::size_t piece_max = 65536);
    ~BadNetwork();
    BadNetwork(const BadNetwork&) = delete;
    BadNetwork& operator=(const BadNetwork&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept { return listener_.port(); }

    /// Cuts the connection that carries the nth byte of this direction from now on, once. `behind` = 1 passes the first
    /// byte on and nothing more. Half of the cuts are a reset, as drawn: bytes underway may be lost with it.
    void cut(Way way, std::uint64_t behind);

    [[nodiscard]] std::uint64_t cuts() const noexcept { return cuts_; }

private:
    struct Pair {
        transport::Socket ends[2];           // who connected, the target
        std::vector<std::byte> underway[2];  // to be written to the other end
        bool over[2] = {false, false};       // nothing more comes from this end
        bool doomed = false;                 // cut as soon as nothing is underway
    };
    void run(const std::stop_token& stop);
    void accept();
    void read(Pair& pair, int from);
    void write(Pair& pair, int to);
    [[nodiscard]] bool ended(Pair& pair);

    const transport::HostPort target_;
    const std::size_t piece_max_;
    transport::Listener listener_;
    std::list<Pair> pairs_;  // of the thread
    std::mt19937_64 random_;
    std::mutex mutex_;
    std::optional<std::uint64_t> bytes_left_[2];  // until the cut; with mutex_
    std::atomic<std::uint64_t> cuts_{0};
    std::jthread thread_;  // last: it ends first
};

}  // namespace weir::testing
