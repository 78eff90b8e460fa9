// SPDX-License-Identifier: Apache-2.0
#include "weir/event/check.hpp"

#include <vector>

#include "fault.hpp"
#include "payload_sum.hpp"
#include "weir/event/compression.hpp"
#include "weir/event/rob_cursor.hpp"

namespace weir::event {
namespace {

Result<> check_sum(const FragmentView& fragment, CheckReport& report) {
    const auto stored = fragment.checksum();
    if (!stored) return {};
    if (fragment.checksum_type() != ChecksumType::adler32) {
        ++report.checksums_unverified;
        return {};
    }
    if (const auto made = payload_adler32(fragment.payload()); made != *stored)
        return fault(Errc::corrupt, fragment.level(), fragment.offset(),
                     fmt::format("adler32 is 0x{:08x}, its payload gives 0x{:08x}", *stored, made));
    ++report.checksums_verified;
    return {};
}

/// Compares the ROD's fields about its event with the event and the rules.
Result<> check_ids(const EventView& event, const FragmentView& rob, const RodView& rod, const RodRules& rules,
                   CheckReport& report) {
    const auto rule = rules.sources.find(rob.source());
    const auto source_rule = rule == rules.sources.end() ? SourceRule{} : rule->second;
    const auto expected = number(event.ids().level1_id) + static_cast<std::uint32_t>(source_rule.level1_offset);
    const bool marked = (rob.status() & status::level1_id) != 0;
    if (!source_rule.exempt && !marked && number(rod.level1_id()) != expected) {
        if (rules.reject_level1_mismatch)
            return fault(Errc::corrupt, Level::rod, rod.offset(),
                         fmt::format("level-1 id of source 0x{:06x} is {}, not {}", number(rob.source()),
                                     number(rod.level1_id()), expected));
        if (report.level1_mismatches++ == 0) report.first_level1_mismatch = rob.source();
    }
    if (rod.run() != event.ids().run) {
        if (rules.reject_run_mismatch)
            return fault(Errc::corrupt, Level::rod, rod.offset(),
                         fmt::format("run of source 0x{:06x} is {}, not {}", number(rob.source()), number(rod.run()),
                                     number(event.ids().run)));
        ++report.run_mismatches;
    }
    if (rod.source() != rob.source()) {
        if (rules.reject_source_mismatch)
            return fault(
                Errc::corrupt, Level::rod, rod.offset(),
                fmt::format("source is 0x{:06x}, its ROB's is 0x{:06x}", number(rod.source()), number(rob.source())));
        ++report.source_mismatches;
    }
    return {};
}

Result<> check_rob(const EventView& event, const FragmentView& rob, const RodRules& rules, CheckReport& report) {
    ++report.robs;
    WEIR_TRY(check_sum(rob, report));
    if (rob.payload().empty() && rob.status() != 0) {  // an empty ROB whose status has the reason
        ++report.robs_without_data;
        return {};
    }
    auto rod = WEIR_TRY(RodView::parse(rob.payload(), rob.payload_offset()));
    if (rod.data().empty() && rob.status() != 0) ++report.robs_without_data;
    return check_ids(event, rob, rod, rules, report);
}

}  // namespace

const char* name(Depth depth) noexcept {
    switch (depth) {
        case Depth::none: return "none";
        case Depth::header: return "header";
        case Depth::fragments: return "fragments";
    }
    return "unknown";
}

std::optional<Depth> parse_depth(std::string_view text) noexcept {
    for (const auto depth : {Depth::none, Depth::header, Depth::fragments})
        if (text == name(depth)) return depth;
    return std::nullopt;
}

RodRules RodRules::bes3() {
    RodRules rules;
    rules.sources[SourceId{0xa80010}] = {.level1_offset = 1, .exempt = false};
    rules.sources[SourceId{0x7c0000}] = {.level1_offset = 0, .exempt = true};
    return rules;
}

Result<CheckReport> check_event(ConstData data, Format format, Depth depth, const RodRules& rules) {
    CheckReport report;
    if (depth == Depth::none || format == Format::opaque) return report;
    auto event = WEIR_TRY(EventView::parse(data, format));
    if (depth == Depth::header) return report;

    WEIR_TRY(check_sum(event.fragment(), report));
    const auto check = [&](const FragmentView& rob) { return check_rob(event, rob, rules, report); };
    Result<> seen;
    if (event.compression() == Compression::none) {
        seen = for_each_rob(event, check);
    } else {  // offsets in messages then count in the unpacked event
        auto plain = WEIR_TRY(decompress_payload(event, rules.uncompressed_max));
        seen = for_each_rob(RobCursor(plain, format, event.header().size()), check);
    }
    if (!seen) return std::unexpected(std::move(seen.error()));
    return report;
}

}  // namespace weir::event
