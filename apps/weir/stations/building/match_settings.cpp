// SPDX-License-Identifier: Apache-2.0
#include "stations/building/match_settings.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "stations/frame/setting_checks.hpp"
#include "weir/base/clock.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view by_time = "time:";

/// "time:200ns": the window.
Result<std::chrono::nanoseconds> parse_window(std::string_view text) {
    const auto window =
        text.starts_with(by_time) ? parse_duration(text.substr(by_time.size())) : Result<std::chrono::nanoseconds>(0ns);
    if (!window || *window < 1ns || *window > 1s)
        return fail(Errc::usage,
                    fmt::format("\"{}\" is no way to match; write level1, or time:200ns (1 ns to 1 s)", text));
    return *window;
}

}  // namespace

void MatchSettings::declare(service::Settings& settings, const std::string& section) {
    settings
        .add(
            section, "match", match_,
            "fragments from outside belong to the event of their level-1 id: level1; or, where they bring none, to the "
            "trigger whose time is within a window of theirs: time:200ns")
        .each([](const std::string& text) -> Result<> {
            if (text != "level1") WEIR_TRY(parse_window(text));
            return {};
        });
    settings
        .add(section, "match_settle", settle_,
             "match = \"time:...\": a fragment waits so long for the next one of its board")
        .at_least(1us)
        .at_most(10s);
    settings
        .add(
            section, "match_wait", wait_,
            "match = \"time:...\": a fragment waits so long at most for later triggers, and until its board's clock is "
            "known, from 16 fragments on")
        .at_least(1ms)
        .at_most(10min);
    settings
        .add(
            section, "match_offset_max", offset_max_,
            "match = \"time:...\": between a board's clock and that of the triggers; 0s: any. Needed when triggers are "
            "periodic: less than half of their period")
        .at_most(std::chrono::hours(1));
    settings
        .add(section, "match_memory", memory_,
             "match = \"time:...\": for fragments that wait; each source has an equal share")
        .at_least(Bytes{1ULL << 20});
    settings
        .add(section, "match_unmatched", unmatched_,
             "match = \"time:...\": a recorder outside the partition, 127.0.0.1:9000, that keeps fragments that fit no "
             "trigger, in stream debug_unmatched; with tls_..., TLS")
        .each([](const std::string& text) -> Result<> { return text.empty() ? Result<>{} : check_address(text); });
}

Result<std::optional<readout::TimeMatching>> MatchSettings::matching(const transport::TlsFiles& tls) const {
    const readout::TimeMatching usual;
    if (match_ == "level1") {
        if (settle_ != usual.settle || wait_ != usual.unlocked_after || offset_max_ != 0ns || memory_ != usual.memory ||
            !unmatched_.empty())
            return fail(Errc::usage, "keys match_... belong to the matching by time: match = \"time:200ns\"");
        return std::nullopt;
    }
    std::optional<readout::UnmatchedRecorder> unmatched;
    if (!unmatched_.empty()) unmatched = readout::UnmatchedRecorder{.host = unmatched_, .tls = tls};
    return readout::TimeMatching{.window = WEIR_TRY(parse_window(match_)),
                                 .offset_max = offset_max_,
                                 .settle = std::chrono::duration_cast<std::chrono::microseconds>(settle_),
                                 .unlocked_after = std::chrono::duration_cast<std::chrono::milliseconds>(wait_),
                                 .memory = memory_,
                                 .unmatched = std::move(unmatched)};
}

}  // namespace weir::app
