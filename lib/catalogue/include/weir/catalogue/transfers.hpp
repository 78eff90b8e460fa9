// SPDX-License-Identifier: Apache-2.0
// What the hand-off knows of one file at one destination. A file has one row for every destination that
// it was begun for; only when all of them are TRANSFERRED does the file itself become TRANSFERRED.
// docs/formats/catalogue.md has the table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/guid.hpp"

namespace weir::catalogue {

enum class CopyState {
    pending,      // to be copied, now or after a wait
    copying,      // begun; after a crash, what lies at the destination under the temporary name is an orphan
    unverified,   // the bytes are there, but the destination has not given their sum: not a copy to rely on
    transferred,  // the destination's sum of its stored bytes, and their number, are the file's
    failed,       // the last attempt ended with an error; tried again later
};

/// As they stand in the table: "PENDING", "COPYING", ...
[[nodiscard]] std::string_view name(CopyState state) noexcept;
[[nodiscard]] std::optional<CopyState> parse_copy_state(std::string_view text) noexcept;

struct TransferRow {
    Guid guid;                // of the file
    std::string destination;  // name of the destination in the configuration
    CopyState state = CopyState::pending;
    std::uint32_t attempts = 0;        // begun so far
    std::optional<WallTime> next_try;  // not before this time; none: at once
    std::uint64_t bytes = 0;           // at the destination when it was last looked at
    std::string algorithm;             // of `checksum`; empty: the destination has given none
    std::string checksum;              // the destination's sum of its stored bytes: hex, normal form
    std::string url;                   // where the copy is, or is to be
    std::string error;                 // of the last attempt; empty: none
    WallTime first_try{};
    WallTime changed{};                // of this row
    std::optional<WallTime> verified;  // when it became TRANSFERRED

    bool operator==(const TransferRow&) const = default;
};

/// What is set must match; an empty query is every row.
struct TransferQuery {
    std::optional<Guid> guid{};
    std::optional<std::string> destination{};
    std::optional<CopyState> state{};
};

}  // namespace weir::catalogue
