// SPDX-License-Identifier: Apache-2.0
// One measured run of a builder, or of what its sockets can do without one.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "build/source_farm.hpp"
#include "weir/base/result.hpp"
#include "weir/messaging/message_loop.hpp"

namespace weir::app {

struct BuildRun {
    SourceFarmOptions farm{};
    std::string listen = "127.0.0.1";
    std::uint32_t events_in_hand = 32;
    bool shaping = true;
    Bytes window{4ULL << 20};
    Bytes receive_buffer{16ULL << 20};
    messaging::InputThread input = messaging::InputThread::none;
    bool output = false;  // built events go on over TCP, as to a filter
    double rate_hz = 0;   // events a second; 0: as fast as it goes
    std::chrono::milliseconds duration{500};
};

struct BuildResult {
    double seconds = 0;
    double events = 0, bytes = 0, messages = 0;  // built; of answers; answers
    double asked = 0, re_requested = 0, robs_lost = 0, kernel_drops = 0;
    double cpu_seconds = 0;  // of the builder's threads
    double wakes = 0;

    [[nodiscard]] double gb_per_s() const { return bytes / seconds / 1e9; }
    [[nodiscard]] double messages_per_s() const { return messages / seconds; }
};

/// A real builder at work.
[[nodiscard]] Result<BuildResult> run_builder(const BuildRun& run);
/// The same requests and answers through the same kind of socket, and they are not looked at: the limit.
[[nodiscard]] Result<BuildResult> run_sockets(const BuildRun& run);
/// Bytes through one TCP connection on this machine.
[[nodiscard]] Result<BuildResult> run_tcp(std::chrono::milliseconds duration, std::size_t block);

}  // namespace weir::app
