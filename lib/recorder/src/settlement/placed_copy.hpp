// SPDX-License-Identifier: Apache-2.0
// A copy that is in its place in a file, on its way to being durable.
#pragma once

#include <memory>

#include "settlement/ledger.hpp"
#include "settlement/ticket.hpp"
#include "weir/datafile/journal.hpp"

namespace weir::recorder {

struct PlacedCopy {
    datafile::StoredCopy entry;
    std::shared_ptr<Ticket> ticket;
    Ledger* ledger = nullptr;  // of the stream, which outlives its files
};

}  // namespace weir::recorder
