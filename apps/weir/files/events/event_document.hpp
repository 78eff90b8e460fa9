// SPDX-License-Identifier: Apache-2.0
// One event in full as a document: its header, its ROBs with the meaning of their status bits, what level 2 found in
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "files/events/event_summary.hpp"

namespace weir::app {

/// One ROB with the facts of its ROD.
struct RobRow {
    event::FragmentView rob;
    std::optional<event::RodView> rod;
    std::string trouble;
};

/// The first `most` ROBs in order, up to where the fragments break off; the summary reports that and why.
[[nodiscard]] std::vector<RobRow> robs_of(const Fragments& fragments, std::size_t most = SIZE_MAX);

/// Whole 32-bit words.
[[nodiscard]] std::size_t words_in(ConstData data) noexcept;

/// The words of its header that the summary does not have.
[[nodiscard]] json::object json_of(const event::EventView& event);
[[nodiscard]] json::object json_of(const RobRow& row);

/// An event that passed by, of whatever makes it, for a browser: the summary, "format", "header", and "rob_list" of at
/// most 2,000 ROBs; "left_out" are the others. Nothing in it is trusted: a compressed one is unpacked up to 64 MiB, and
/// the document has a few megabytes at most.
[[nodiscard]] json::object event_document(ConstData event);

}  // namespace weir::app
