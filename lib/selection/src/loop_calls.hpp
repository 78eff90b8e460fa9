// SPDX-License-Identifier: Apache-2.0
// What stations do with their message loop from other threads: have something done in it, and name its peers.
#pragma once

#include <algorithm>
#include <functional>
#include <future>
#include <initializer_list>
#include <string>
#include <vector>

#include "weir/service/peer.hpp"
#include "weir/service/reports.hpp"
#include "weir/transport/message_loop.hpp"

namespace weir::selection {

/// Has `work` done by the loop's thread, and waits for it.
inline void in_loop(transport::MessageLoop& loop, const std::function<void()>& work) {
    std::promise<void> done;
    loop.call([&] {
        work();
        done.set_value();
    });
    done.get_future().wait();
}

inline void warn(Reports& reports, std::string text) {
    Report report;
    report.severity = Severity::warning;
    report.what = std::move(text);
    reports.submit(std::move(report));
}

/// Where others reach the loop; empty when it is not open.
[[nodiscard]] inline std::string address_of(const transport::MessageLoopOptions& options,
                                            const transport::MessageLoop* loop) {
    return loop == nullptr ? "" : transport::to_string(transport::HostPort{options.listen.host, loop->port()});
}

/// The peers of these kinds. Errc::usage: one has no address.
[[nodiscard]] inline Result<std::vector<transport::LinkPeer>> links_to(const std::vector<Peer>& peers,
                                                                       std::initializer_list<StationKind> kinds,
                                                                       transport::LinkKind link,
                                                                       std::initializer_list<StationKind> watched) {
    std::vector<transport::LinkPeer> links;
    for (const auto& peer : peers) {
        if (std::ranges::find(kinds, peer.kind) == kinds.end()) continue;
        const auto address = transport::parse_host_port(peer.dataflow);
        if (!address)
            return fail(Errc::usage, "station " + peer.name + " has no usable address: " + address.error().message());
        links.push_back({.id = peer.id, .address = *address, .link = link,
                         .watched = std::ranges::find(watched, peer.kind) != watched.end()});
    }
    return links;
}

}  // namespace weir::selection
