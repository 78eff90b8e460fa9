// SPDX-License-Identifier: Apache-2.0
// What stations do with their message loop from other threads: have something done in it, and name its peers.
#pragma once

#include <algorithm>
#include <exception>
#include <functional>
#include <future>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "weir/transport/message_loop.hpp"
#include "weir/wire/peer.hpp"

namespace weir::transport {

/// Has `work` done by the loop's thread, and waits for it. What it throws is thrown here.
inline void in_loop(MessageLoop& loop, const std::function<void()>& work) {
    const auto done = std::make_shared<std::promise<void>>();  // shared: the loop's thread may leave it after this one
    auto future = done->get_future();
    loop.call([&work, done] {
        try {
            work();
            done->set_value();
        } catch (...) {
            done->set_exception(std::current_exception());
        }
    });
    future.get();
}

/// Where others reach the loop; empty when it is not open.
[[nodiscard]] inline std::string address_of(const MessageLoopOptions& options, const MessageLoop* loop) {
    return loop == nullptr ? "" : to_string(HostPort{options.listen.host, loop->port()});
}

/// The peers of these kinds; a link is over TCP when either end wants it. Errc::usage: one has no address.
[[nodiscard]] inline Result<std::vector<LinkPeer>> links_to(const std::vector<Peer>& peers, std::initializer_list<StationKind> kinds,
                                                            LinkKind link, std::initializer_list<StationKind> watched) {
    std::vector<LinkPeer> links;
    for (const auto& peer : peers) {
        if (std::ranges::find(kinds, peer.kind) == kinds.end()) continue;
        const auto address = parse_host_port(peer.dataflow);
        if (!address) return fail(Errc::usage, "station " + peer.name + " has no usable address: " + address.error().message());
        links.push_back({.id = peer.id, .address = *address, .link = peer.tcp ? LinkKind::tcp : link,
                         .watched = std::ranges::find(watched, peer.kind) != watched.end()});
    }
    return links;
}

}  // namespace weir::transport
