// SPDX-License-Identifier: Apache-2.0
// The message loop of a station, as its partition file wants it.
#pragma once

#include <chrono>

#include "partition_settings.hpp"
#include "station_command.hpp"
#include "weir/transport/message_loop.hpp"

namespace weir::app {

/// `input`: whether receiving has a thread of its own.
[[nodiscard]] inline transport::MessageLoopOptions loop_options(const StationPlace& place,
                                                                transport::InputThread input = transport::InputThread::none) {
    transport::MessageLoopOptions options;
    options.datagram_max = static_cast<std::size_t>(place.partition.network.datagram_max.count());
    options.receive_buffer = place.partition.network.receive_buffer;
    options.input = input;
    options.exchange.self = place.id;
    options.exchange.key = place.partition.key;
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    options.exchange.epoch = wire::Epoch{static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count())};
    return options;
}

}  // namespace weir::app
