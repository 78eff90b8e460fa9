// SPDX-License-Identifier: Apache-2.0
// The way of one file to one destination. It may end at any instruction and be begun again:
//
//     the catalogue has COPYING, attempt n
//     bytes from the disk, summed on the way          ->  the temporary name of attempt n
//     the sum is the catalogue's?                          no: read once more; QUARANTINED, nothing is handed over
//     synced, closed; the size is right?                   no: FAILED, removed, tried again later
//     the destination's sum of what it stored?             none: UNVERIFIED, asked once more later
//     the same number as the catalogue's?                  no: FAILED, removed, tried again later
//     nothing is left of earlier attempts?                 no: UNVERIFIED, asked once more later
//     the temporary name becomes the final one
//     the catalogue has TRANSFERRED
//
// A file that is there under its final name before the copy (a crash came between the last two steps, or
// the catalogue was rebuilt) is read back whole and compared; when it differs it is not ours and is
// left alone.
#pragma once

#include "transfer/backoff.hpp"
#include "weir/base/clock.hpp"
#include "weir/catalogue/catalogue.hpp"
#include "weir/handoff/destination.hpp"
#include "weir/handoff/hand_off_options.hpp"
#include "weir/handoff/place.hpp"

namespace weir::handoff {

enum class Outcome {
    transferred,  // verified, and entered in the row
    unverified,   // copied, but no sum came: asked once more later
    failed,       // tried again later
    quarantined,  // the source is damaged: never handed over
    gone,         // the file is no longer to be handed over (deleted, quarantined, done by others)
    stopped,
};

/// Why it failed, as far as an operator must know.
enum class Trouble {
    none,
    source,       // it cannot be read, or has no sum in the catalogue
    destination,  // refused, full, silent, away: the next file will not fare better
    wrong_bytes,  // it stored other bytes than were sent, or so it answers
    name_taken,   // another file has the name
    catalogue,    // it could not be written
};

struct TransferResult {
    Outcome outcome = Outcome::failed;
    Trouble trouble = Trouble::none;
    std::string why;          // of everything but `transferred`
    std::uint64_t bytes = 0;  // sent in this attempt
};

class Transfer {
public:
    /// All of them must outlive it.
    Transfer(catalogue::Catalogue& catalogue, Destination& destination, Backoff& backoff,
             const TransferOptions& options, const Clock& clock)
        : catalogue_(catalogue), destination_(destination), backoff_(backoff), options_(options), clock_(clock) {}

    /// `row` is what the catalogue has of this file and destination (a fresh one when it has none), and
    /// becomes what it has afterwards. Several threads, each with a file of its own.
    [[nodiscard]] TransferResult run(const catalogue::FileRow& file, const std::string& place,
                                     catalogue::TransferRow& row, const std::stop_token& stop);

    /// Removes what attempts have left at the destination.
    [[nodiscard]] Result<> clean(const std::string& place, const catalogue::TransferRow& row,
                                 const std::stop_token& stop);

private:
    class Attempt;

    [[nodiscard]] Result<> remove_attempts(const std::string& place, const Guid& guid, std::uint32_t first,
                                           std::uint32_t last, const std::stop_token& stop);

    catalogue::Catalogue& catalogue_;
    Destination& destination_;
    Backoff& backoff_;
    const TransferOptions& options_;
    const Clock& clock_;
};

}  // namespace weir::handoff
