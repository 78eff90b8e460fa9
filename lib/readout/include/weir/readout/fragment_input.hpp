// SPDX-License-Identifier: Apache-2.0
// Where a readout takes fragments from outside weir.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "weir/base/bytes.hpp"
#include "weir/readout/datagram_header.hpp"
#include "weir/transport/socket.hpp"
#include "weir/transport/tls.hpp"

namespace weir::readout {

/// By TCP, from programs that speak docs/formats/input-protocol.md.
struct FragmentInput {
    transport::HostPort listen{"127.0.0.1", 0};  // port 0: any free one
    std::string name{};                          // of the readout, for its senders
    transport::TlsFiles tls{};                   // when named, senders must show a certificate of the authority
    Bytes memory{32ULL << 20};                   // of blocks that are received, or wait for room
    std::uint32_t connections_max = 1024;
};

/// By UDP, from boards that can do nothing else: docs/formats/input-udp.md. What is lost stays lost.
struct DatagramInputOptions {
    transport::HostPort listen{"127.0.0.1", 0};  // port 0: any free one
    DatagramHeader header{};
    Bytes receive_buffer{64ULL << 20};    // of the kernel, which may give less
    Bytes memory{32ULL << 20};            // of fragments that wait for the other parts; each source has an equal share
    std::chrono::milliseconds wait{500};  // for a part, or a fragment, that a later one has overtaken
};

}  // namespace weir::readout
