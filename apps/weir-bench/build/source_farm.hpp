// SPDX-License-Identifier: Apache-2.0
// Many sources of fragments for one builder, on one thread: each has a socket of its own and answers requests for whole
// events with a ROB of a fixed size that carries the level-1 id that was asked for. It does as little as an answer can
// cost, so that what is measured is the builder.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/result.hpp"
#include "weir/wire/peer.hpp"

namespace weir::app {

struct SourceFarmOptions {
    std::string address = "127.0.0.1";
    std::string network_namespace{};  // named; empty: ours
    std::uint32_t sources = 200;
    std::size_t rob_size = 5000;  // bytes, rounded down to words
    std::size_t datagram_max = 65'507;
    double loss = 0;  // of requests and of answers, each
    std::uint64_t seed = 1;
};

class SourceFarm {
public:
    [[nodiscard]] static Result<std::unique_ptr<SourceFarm>> start(const SourceFarmOptions& options);
    ~SourceFarm();

    /// Station 100 + i serves source 0x510000 + i.
    [[nodiscard]] const std::vector<Peer>& peers() const noexcept { return peers_; }
    [[nodiscard]] std::uint64_t answers() const noexcept { return answers_.load(std::memory_order_relaxed); }
    /// Of the farm's thread so far.
    [[nodiscard]] double cpu_seconds() const noexcept {
        return static_cast<double>(cpu_ns_.load(std::memory_order_relaxed)) / 1e9;
    }

private:
    class Sources;
    SourceFarm() = default;
    std::vector<Peer> peers_;
    std::atomic<std::uint64_t> answers_{0};
    std::atomic<std::int64_t> cpu_ns_{0};
    std::unique_ptr<Sources> sources_;
    std::jthread thread_;
};

}  // namespace weir::app
