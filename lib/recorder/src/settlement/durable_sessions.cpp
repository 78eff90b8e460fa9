// SPDX-License-Identifier: Apache-2.0
#include "settlement/durable_sessions.hpp"

#include <utility>

#include "weir/recovery/marks.hpp"

namespace weir::recorder {

void DurableSessions::declare(std::uint32_t session, const wire::SessionKey& key) {
    const std::scoped_lock lock(mutex_);
    sessions_.try_emplace(session, Session{key, {}, false});
}

void DurableSessions::restore(std::uint32_t session, const wire::SessionKey& key, const wire::SequenceSet& durable) {
    const std::scoped_lock lock(mutex_);
    sessions_.insert_or_assign(
        session, Session{key, durable, true});  // written again: files may be deleted before the next change
}

void DurableSessions::forget(std::uint32_t session) {
    const std::scoped_lock lock(mutex_);
    sessions_.erase(session);
}

void DurableSessions::add(std::uint32_t session, Sequence sequence) {
    const std::scoped_lock lock(mutex_);
    auto& known = sessions_.at(session);
    known.durable.insert(sequence);
    known.changed = true;
}

datafile::SessionDeclared DurableSessions::declaration(std::uint32_t session) const {
    const std::scoped_lock lock(mutex_);
    const auto& key = sessions_.at(session).key;
    return {session, key.incarnation, key.connection, key.run, key.sender};
}

std::vector<catalogue::SessionMark> DurableSessions::take_changed_marks(const std::string& recorder) {
    const std::scoped_lock lock(mutex_);
    std::vector<catalogue::SessionMark> marks;
    for (auto& [number, session] : sessions_) {
        if (std::exchange(session.changed, false))
            marks.push_back(recovery::mark_of(session.key, session.durable, recorder));
    }
    return marks;
}

}  // namespace weir::recorder
