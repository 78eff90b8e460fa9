// SPDX-License-Identifier: Apache-2.0
#include "stations/frame/loop_settings.hpp"

#include "stations/frame/setting_checks.hpp"

namespace weir::app {

void LoopSettings::declare(service::Settings& settings, const std::string& section) {
    settings
        .add(section, "listen", listen_,
             "address and port for datagrams and TCP; empty: 127.0.0.1:0, or the machine's address in [network] data")
        .each(check_listen);
    settings.add(section, "link", link_, "udp or tcp; empty: as [network] states").one_of({"", "udp", "tcp"});
}

Result<messaging::MessageLoopOptions> LoopSettings::options(const StationPlace& place) const {
    messaging::MessageLoopOptions options;
    options.listen = WEIR_TRY(place.listen(listen_));
    options.tls = place.partition.data_tls();
    options.datagram_max = place.partition.network.datagram_max.count();
    options.receive_buffer = place.partition.network.receive_buffer;
    options.endpoint.self = place.id;
    options.endpoint.key = place.partition.key;
    return options;
}

messaging::LinkKind LoopSettings::link(const StationPlace& place) const {
    return parse_link(link_).value_or(place.partition.link());
}

}  // namespace weir::app
