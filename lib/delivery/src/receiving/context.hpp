// SPDX-License-Identifier: Apache-2.0
// What all connections of a receiver share: its limits, its pool and sink, its sessions and its counts.
#pragma once

#include <optional>
#include <string>

#include "receiving/ledger.hpp"
#include "receiving/reception_memory.hpp"
#include "session/session_registry.hpp"
#include "weir/base/endian.hpp"
#include "weir/base/guid.hpp"
#include "weir/delivery/receiver.hpp"

namespace weir::delivery {

struct Context {
    Context(const ReceiverOptions& receiver_options, memory::BufferPool& buffer_pool, EventSink& event_sink,
            Reporter reporter, std::optional<transport::TlsContext> tls_context = std::nullopt)
        : options(receiver_options),
          tls(std::move(tls_context)),
          pool(buffer_pool),
          reception(buffer_pool),
          sink(event_sink),
          report(std::move(reporter)),
          instance(load_little<std::uint64_t>(Guid::random().bytes)),
          sessions(options.sessions_max, options.session_intervals_max) {}

    const ReceiverOptions options;
    const std::optional<transport::TlsContext> tls;  // nothing: plain TCP
    memory::BufferPool& pool;
    ReceptionMemory reception;
    EventSink& sink;
    const Reporter report;
    const std::uint64_t instance;  // of this process, for the senders: new at each start
    Ledger ledger;
    SessionRegistry sessions;
};

}  // namespace weir::delivery
