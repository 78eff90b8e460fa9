// SPDX-License-Identifier: Apache-2.0
// The keys `listen` and `link` of every station in the data flow protocol, and the options of its message loop:
// those of the keys, and the partition's network.
#pragma once

#include <string>

#include "stations/frame/station_command.hpp"
#include "weir/messaging/message_loop.hpp"

namespace weir::app {

class LoopSettings {
public:
    void declare(service::Settings& settings, const std::string& section);
    /// Of values that the reader of the file has checked; without a reporter. Errc::usage: other machines would reach
    /// its port without certificates.
    [[nodiscard]] Result<messaging::MessageLoopOptions> options(const StationPlace& place) const;
    [[nodiscard]] messaging::LinkKind link(const StationPlace& place) const;

private:
    std::string listen_;  // empty: see StationPlace::listen()
    std::string link_;    // empty: the partition's
};

}  // namespace weir::app
