// SPDX-License-Identifier: Apache-2.0
// Sends triggers to the readouts that need them: to read out on request, or to match fragments by time, soon after
// their tickets were made. A readout that was started again or is silent gets none of those that happened before. Logic
// only: one thread makes all calls.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "weir/messaging/messages.hpp"
#include "weir/wire/dataflow.hpp"
#include "weir/wire/peer.hpp"

namespace weir::selection {

class TriggerNotices {
public:
    static constexpr std::size_t pending_max = 65'536;  // of each readout; then the oldest are not sent, and counted

    void set_peers(const std::vector<Peer>& peers);
    void start_run() noexcept;
    void add(const wire::EventTicket& ticket);
    void forget(wire::StationId readout);
    /// What can be sent now. False: some are left.
    bool send(messaging::MessageSender& messages);

    [[nodiscard]] std::uint64_t not_sent() const noexcept { return not_sent_; }

private:
    std::map<wire::StationId, std::deque<wire::TriggerNotice>> pending_;
    std::uint64_t not_sent_ = 0;
    wire::Triggers message_;
    std::vector<std::byte> buffer_;
};

}  // namespace weir::selection
