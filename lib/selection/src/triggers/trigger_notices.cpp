// SPDX-License-Identifier: Apache-2.0
#include "triggers/trigger_notices.hpp"

#include <algorithm>
#include <utility>

#include "triggers/trigger_time.hpp"

namespace weir::selection {

void TriggerNotices::set_peers(const std::vector<Peer>& peers) {
    decltype(pending_) pending;
    for (const auto& peer : peers) {
        if (peer.kind != StationKind::readout || !peer.triggers) continue;
        if (const auto known = pending_.find(peer.id); known != pending_.end())
            pending[peer.id] = std::move(known->second);
        else pending[peer.id] = {};
    }
    pending_ = std::move(pending);
}

void TriggerNotices::start_run() noexcept {
    for (auto& [id, triggers] : pending_) triggers.clear();
    not_sent_ = 0;
}

void TriggerNotices::add(const wire::EventTicket& ticket) {
    for (auto& [id, triggers] : pending_) {
        if (triggers.size() >= pending_max) {
            triggers.pop_front();
            ++not_sent_;
        }
        triggers.push_back({.level1_id = ticket.level1_id, .type = ticket.trigger_type, .time_ns = time_ns(ticket)});
    }
}

void TriggerNotices::forget(wire::StationId readout) {
    if (const auto found = pending_.find(readout); found != pending_.end()) {
        not_sent_ += found->second.size();
        found->second.clear();
    }
}

bool TriggerNotices::send(messaging::MessageSender& messages) {
    bool all = true;
    for (auto& [id, triggers] : pending_) {
        while (!triggers.empty()) {
            const auto size = std::min(triggers.size(), wire::triggers_in_message_max);
            const auto end = triggers.begin() + static_cast<std::ptrdiff_t>(size);
            message_.triggers.assign(triggers.begin(), end);
            buffer_.clear();
            encode(message_, buffer_);
            const ConstData piece(buffer_);
            if (!messages.send_reliably(id, wire::DataflowType::triggers, std::span(&piece, 1))) {
                all = false;
                break;
            }
            triggers.erase(triggers.begin(), end);
        }
    }
    return all;
}

}  // namespace weir::selection
