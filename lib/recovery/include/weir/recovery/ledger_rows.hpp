// SPDX-License-Identifier: Apache-2.0
// The rows of a ledger, from what lies on a disk: files prove what was stored, journals what was rejected. So a ledger
// that is made of them is right after a crash too.
#pragma once

#include <span>
#include <string>

#include "weir/base/result.hpp"
#include "weir/catalogue/catalogue.hpp"
#include "weir/datafile/journal.hpp"

namespace weir::recovery {

/// What a closed file adds to the ledger of its stream: so the ledger agrees with the files, also after a crash.
[[nodiscard]] catalogue::LedgerRow ledger_of_file(const datafile::FileOpened& opened,
                                                  const datafile::FileClosed& closed, const std::string& recorder);

/// The rejected copies in the journals of a recorder that died, as far as its ledgers do not count them. Doing it
/// twice is the same as once.
[[nodiscard]] Result<> enter_rejected(std::span<const datafile::RejectedCopies> totals,
                                      catalogue::Catalogue& catalogue);

}  // namespace weir::recovery
