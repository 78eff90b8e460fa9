// SPDX-License-Identifier: Apache-2.0
#include "verify/stored_once.hpp"

namespace weir::recovery {

std::optional<StoredOnce::Twice> StoredOnce::add(const std::string& recorder, const datafile::StoredIndex& index) {
    std::optional<Twice> first;
    std::uint64_t event = 0;
    for (const auto& copy : index.copies) {
        ++event;
        const auto session = index.sessions.find(copy.session);
        if (session == index.sessions.end() || !wire::valid(copy.sequence))
            continue;  // recovered without a journal: unknown
        const auto& declared = session->second;
        const wire::SessionKey key{declared.sender, declared.incarnation, declared.connection, declared.run};
        if (seen_[{recorder, key, copy.copy}].insert(copy.sequence)) continue;
        if (!first) first = Twice{event, copy.offset, 0, wire::to_string(key), copy.sequence};
        ++first->copies;
    }
    return first;
}

}  // namespace weir::recovery
