// SPDX-License-Identifier: Apache-2.0
// What the ledger in the catalogue lacks. A closed file brings what it stores, as received and stored; what
// was refused comes from the counts of the recorder, now and then, and at the end of a run what has no fate at all.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "settlement/ledger.hpp"
#include "weir/catalogue/catalogue.hpp"
#include "weir/delivery/receiver.hpp"

namespace weir::recorder {

/// Nothing: there is nothing to write. `lost`: copies that were received, and at the end of the run are neither stored
/// nor rejected; they are written as received, and the ledger does not balance.
[[nodiscard]] std::optional<catalogue::LedgerRow> ledger_change(const Ledger::Counts& now,
                                                                const Ledger::Counts& written, std::uint64_t lost);

/// Events, not copies, by reason: what was received and neither acknowledged nor is in hand. An event that names no
/// stream has no copies and stands only here.
[[nodiscard]] std::map<std::string, std::uint64_t> events_rejected(const delivery::ReceiverStats& stats);

}  // namespace weir::recorder
