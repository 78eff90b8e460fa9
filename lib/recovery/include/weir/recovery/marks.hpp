// SPDX-License-Identifier: Apache-2.0
// What is durable of a run, as the catalogue keeps it: a mark for each session of a sender, and one for each chunk of
// global ids where these are kept. Marks outlive the files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/catalogue/rows.hpp"
#include "weir/wire/event_id_set.hpp"
#include "weir/wire/sequence_set.hpp"
#include "weir/wire/session.hpp"

namespace weir::recovery {

[[nodiscard]] catalogue::SessionMark mark_of(const wire::SessionKey& key, const wire::SequenceSet& durable,
                                             const std::string& recorder);
/// Errc::corrupt when it is not one that mark_of() made.
[[nodiscard]] Result<std::pair<wire::SessionKey, wire::SequenceSet>> session_of(const catalogue::SessionMark& mark);

/// The events of a run, from its files.
struct EventHoldings {
    wire::EventIdSet durable;  // all copies are there
    wire::EventIdSet marked;   // what the catalogue has of them
    struct Some {
        std::uint64_t copies_found = 0;      // bit n = copy n
        std::vector<std::string> streams{};  // that have one
    };
    std::map<GlobalEventId, Some> some;  // not all copies are
};

/// The ids of one chunk as a mark of a sender that cannot be: so it lives, travels and is committed as the marks of
/// sessions do.
[[nodiscard]] catalogue::SessionMark mark_of_events(const wire::EventIdSet& durable, std::uint64_t chunk, RunNumber run,
                                                    const std::string& recorder);
/// Of the chunks that the catalogue does not have as they are, and of chunk 0: its mark means that the ids of this run
/// are kept.
[[nodiscard]] std::vector<catalogue::SessionMark> marks_of_events(const EventHoldings& holdings, RunNumber run,
                                                                  const std::string& recorder);
[[nodiscard]] bool is_mark_of_events(const catalogue::SessionMark& mark) noexcept;
[[nodiscard]] Result<wire::EventIdSet> events_of(const catalogue::SessionMark& mark);

}  // namespace weir::recovery
