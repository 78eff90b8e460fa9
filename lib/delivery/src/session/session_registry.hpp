// SPDX-License-Identifier: Apache-2.0
// All sessions of a receiver, by key and by id. A session is pinned while a connection uses it and is never
// closed before. The id of a session with events is not used again.
#pragma once

#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "session/session.hpp"

namespace weir::delivery {

class SessionRegistry {
public:
    SessionRegistry(std::size_t sessions_max, std::size_t intervals_max)
        : sessions_max_(sessions_max), intervals_max_(intervals_max) {}

    /// The session, pinned; made when it is new. Nothing when there are too many.
    [[nodiscard]] std::shared_ptr<Session> enter(const wire::SessionKey& key) { return find_or_make(key, true); }
    /// The same, without a pin and without a limit: from the recorder's own journal.
    [[nodiscard]] std::shared_ptr<Session> restore(const wire::SessionKey& key) { return find_or_make(key, false); }
    /// Takes one pin away. With the last one a session on which no event ever came is closed: else a sender that sends
    /// HELLO often enough would take up all of them. True when it is closed.
    [[nodiscard]] bool unpin(const Session& session);

    [[nodiscard]] std::shared_ptr<Session> find(SessionId id) const;
    std::size_t close_sessions(RunNumber run);
    [[nodiscard]] std::size_t size() const;

private:
    struct Entry {
        std::shared_ptr<Session> session;  // shared with its connections
        unsigned pins = 0;
    };
    std::shared_ptr<Session> find_or_make(const wire::SessionKey& key, bool pin);

    mutable std::shared_mutex mutex_;
    const std::size_t sessions_max_;
    const std::size_t intervals_max_;
    std::uint32_t next_id_ = 1;
    std::unordered_map<wire::SessionKey, SessionId, wire::SessionKeyHash> ids_;
    std::unordered_map<SessionId, Entry> sessions_;
};

}  // namespace weir::delivery
