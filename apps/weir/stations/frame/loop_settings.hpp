// SPDX-License-Identifier: Apache-2.0
// What every station that speaks the dataflow protocol says of its message loop: address, link, and the partition's
// network.
#pragma once

#include <string>

#include "stations/frame/station_command.hpp"
#include "weir/messaging/message_loop.hpp"

namespace weir::app {

/// Of texts that the reader of the file has checked.
[[nodiscard]] messaging::MessageLoopOptions loop_options(const StationPlace& place,
                                                         const std::string& listen = "127.0.0.1:0");
[[nodiscard]] messaging::LinkKind link_of(const StationPlace& place, const std::string& link);

}  // namespace weir::app
