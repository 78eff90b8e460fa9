// SPDX-License-Identifier: Apache-2.0
// What a recorder holds durably of each session of its senders: repeated in WELCOME after a reconnect,
// and written into the catalogue as high-water marks, which outlive the files.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "weir/catalogue/rows.hpp"
#include "weir/datafile/journal.hpp"
#include "weir/wire/sequence_set.hpp"
#include "weir/wire/session.hpp"

namespace weir::recorder {

/// Any thread.
class DurableSessions {
public:
    /// A session gets its number from the receiver. A number that is known stays as it is.
    void declare(std::uint32_t session, const wire::SessionKey& key);
    void restore(std::uint32_t session, const wire::SessionKey& key, const wire::SequenceSet& durable);

    /// No event ever came on it.
    void forget(std::uint32_t session);

    void add(std::uint32_t session, Sequence sequence);

    [[nodiscard]] datafile::SessionDeclared declaration(std::uint32_t session) const;

    /// The marks of all sessions that changed since the last call.
    [[nodiscard]] std::vector<catalogue::SessionMark> take_changed_marks(const std::string& recorder);

private:
    struct Session {
        wire::SessionKey key;
        wire::SequenceSet durable;
        bool changed = false;
    };
    mutable std::mutex mutex_;
    std::map<std::uint32_t, Session> sessions_;
};

}  // namespace weir::recorder
