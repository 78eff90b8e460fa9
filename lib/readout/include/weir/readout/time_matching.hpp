// SPDX-License-Identifier: Apache-2.0
// How a readout finds the triggers of fragments that bring a time instead of a level-1 id (`match = "time:200ns"`).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "weir/base/bytes.hpp"
#include "weir/transport/tls.hpp"

namespace weir::readout {

/// A recorder that keeps what fits no trigger, or more than one (stream debug_unmatched).
struct UnmatchedRecorder {
    std::string host{};         // "host:port"
    transport::TlsFiles tls{};  // when named: TLS
};

struct TimeMatching {
    std::chrono::nanoseconds window{200};  // between a trigger's time and its fragment's, by the clock that is followed
    std::chrono::nanoseconds offset_max{0};  // between the clocks; 0: any. For periodic triggers: below half of
                                             // their period, since they fit themselves when moved by a period
    std::chrono::microseconds settle{5000};  // a fragment waits so long for a later one of its board
    std::chrono::milliseconds unlocked_after{10'000};  // and for a later trigger, or for its board's clock to be known
    std::uint32_t waiting_max = 4096;                  // fragments of a source; then its sender waits
    Bytes memory{64ULL << 20};                         // of fragments that wait; each source has an equal share
    std::optional<UnmatchedRecorder> unmatched{};
};

}  // namespace weir::readout
