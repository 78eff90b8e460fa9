// SPDX-License-Identifier: Apache-2.0
#include "stations/frame/loop_settings.hpp"

#include <chrono>

namespace weir::app {

messaging::MessageLoopOptions loop_options(const StationPlace& place, const std::string& listen) {
    messaging::MessageLoopOptions options;
    if (const auto address = transport::parse_host_port(listen)) options.listen = *address;
    options.datagram_max = place.partition.network.datagram_max.count();
    options.receive_buffer = place.partition.network.receive_buffer;
    options.endpoint.self = place.id;
    options.endpoint.key = place.partition.key;
    // A later process of the same station has a later number.
    options.endpoint.epoch = wire::Epoch{static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count())};
    return options;
}

messaging::LinkKind link_of(const StationPlace& place, const std::string& link) {
    return parse_link(link).value_or(place.partition.link());
}

}  // namespace weir::app
