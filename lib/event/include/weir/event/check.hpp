// SPDX-License-Identifier: Apache-2.0
// Checks an event against its own headers, to a depth that is chosen by cost. A fault of the structure
// or of a checksum is an error. A field that a detector fills differently (its level-1 id, a run number
// left at 0) is counted, and an error only where the rules ask for it: real detectors do
// all of this every day.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "weir/base/bytes.hpp"
#include "weir/event/event_view.hpp"

namespace weir::event {

enum class Depth : std::uint8_t {
    none,       // nothing is looked at
    header,     // the event's own header
    fragments,  // every fragment, and every checksum
};

/// "none", "header", "fragments".
[[nodiscard]] const char* name(Depth depth) noexcept;
[[nodiscard]] std::optional<Depth> parse_depth(std::string_view text) noexcept;

/// How the ROD of one source counts its level-1 id.
struct SourceRule {
    std::int32_t level1_offset = 0;  // ROD id = event id + offset
    bool exempt = false;             // carries no level-1 id worth matching
};

struct RodRules {
    std::unordered_map<SourceId, SourceRule> sources{};  // the others: offset 0, not exempt
    bool reject_level1_mismatch = false;
    bool reject_run_mismatch = false;
    bool reject_source_mismatch = false;  // ROD source differs from its ROB's
    Bytes uncompressed_max = 64_MiB;      // fragments of a compressed event

    /// The rules for real events of BES III: one source counts one ahead, the event filter's does not count.
    [[nodiscard]] static RodRules bes3();
};

/// The findings; filled at Depth::fragments only.
struct CheckReport {
    std::uint32_t robs = 0;
    std::uint32_t robs_without_data = 0;  // ROBs that stand for a lost fragment
    std::uint32_t level1_mismatches = 0;  // against the rules, and not marked in the ROB's status
    std::uint32_t run_mismatches = 0;
    std::uint32_t source_mismatches = 0;
    std::uint32_t checksums_verified = 0;
    std::uint32_t checksums_unverified = 0;  // of a kind that we cannot compute
    SourceId first_level1_mismatch{};        // when there is one

    bool operator==(const CheckReport&) const noexcept = default;
};

/// `data` is exactly one event. An opaque event passes at every depth: there is nothing to look at.
/// A compressed event is unpacked for Depth::fragments, within rules.uncompressed_max.
[[nodiscard]] Result<CheckReport> check_event(ConstData data, Format format, Depth depth, const RodRules& rules = {});

}  // namespace weir::event
