// SPDX-License-Identifier: Apache-2.0
#include "session/session_registry.hpp"

#include <mutex>

#include "weir/base/assert.hpp"

namespace weir::delivery {

std::shared_ptr<Session> SessionRegistry::find_or_make(const wire::SessionKey& key, bool pin) {
    const std::scoped_lock lock(mutex_);
    auto known = ids_.find(key);
    if (known == ids_.end()) {
        if (pin && sessions_.size() >= sessions_max_) return nullptr;
        while (sessions_.contains(SessionId{next_id_})) ++next_id_;  // after 2^32 of them
        const SessionId id{next_id_++};
        known = ids_.emplace(key, id).first;
        sessions_.emplace(id, Entry{std::make_shared<Session>(id, key, intervals_max_)});
    }
    auto& entry = sessions_.at(known->second);
    if (pin) ++entry.pins;
    return entry.session;
}

bool SessionRegistry::unpin(const Session& session) {
    const std::scoped_lock lock(mutex_);
    const auto at = sessions_.find(session.id);
    WEIR_ASSERT(at != sessions_.end() && at->second.pins > 0);
    if (--at->second.pins > 0 || !session.untouched()) return false;
    ids_.erase(session.key);
    sessions_.erase(at);
    return true;
}

std::shared_ptr<Session> SessionRegistry::find(SessionId id) const {
    const std::shared_lock lock(mutex_);
    const auto at = sessions_.find(id);
    return at == sessions_.end() ? nullptr : at->second.session;
}

std::size_t SessionRegistry::close_sessions(RunNumber run) {
    const std::scoped_lock lock(mutex_);
    const auto erase_key = [this](const wire::SessionKey& key) { ids_.erase(key); };
    return std::erase_if(sessions_, [&](const auto& item) {
        const auto& [id, entry] = item;
        if (entry.session->key.run != run || entry.pins > 0 || entry.session->anything_in_hand()) return false;
        erase_key(entry.session->key);
        return true;
    });
}

std::size_t SessionRegistry::size() const {
    const std::shared_lock lock(mutex_);
    return sessions_.size();
}

}  // namespace weir::delivery
