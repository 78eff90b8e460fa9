// SPDX-License-Identifier: Apache-2.0
// Where a supervisor takes triggers from outside weir.
#pragma once

#include <cstdint>
#include <string>

#include "weir/base/bytes.hpp"
#include "weir/transport/socket.hpp"
#include "weir/transport/tls.hpp"

namespace weir::selection {

/// By TCP, from a trigger unit that speaks docs/formats/input-protocol.md.
struct TriggerInput {
    transport::HostPort listen{"127.0.0.1", 0};  // port 0: any free one
    std::string name{};                          // of the supervisor, for its senders
    transport::TlsFiles tls{};                   // when named, senders must show a certificate of the authority
    Bytes memory{4ULL << 20};                    // of blocks that are received, or wait for room
    std::uint32_t connections_max = 64;
};

}  // namespace weir::selection
