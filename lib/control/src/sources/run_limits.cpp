// SPDX-License-Identifier: Apache-2.0
#include "weir/control/run_limits.hpp"

#include <fmt/format.h>

#include <charconv>

#include "weir/base/clock.hpp"

namespace weir::control {
namespace {

std::string_view trimmed(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
}

template <class Number>
bool read_all(std::string_view text, Number& number) {
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
    return !text.empty() && ec == std::errc{} && end == text.data() + text.size();
}

}  // namespace

Result<IncompleteLimit> parse_incomplete_limit(std::string_view text) {
    constexpr std::string_view either = " or ";
    const auto wrong = [&] {
        return fail(Errc::usage,
                    "is no limit; write a share of the events such as \"0.1%\", a number such as \"10\", or "
                    "\"0.1% or 10\" for the larger of the two");
    };
    IncompleteLimit limit{0, 0};
    const auto at = text.find(either);
    const auto first = trimmed(text.substr(0, at));
    const auto second = at == text.npos ? std::string_view{} : trimmed(text.substr(at + either.size()));
    const bool shared = first.ends_with('%');
    if (shared) {
        double percent = 0;
        if (!read_all(trimmed(first.substr(0, first.size() - 1)), percent) || !(percent >= 0 && percent <= 100))
            return wrong();
        limit.share = percent / 100;
    }
    if (at == text.npos && shared) return limit;
    if (at != text.npos && !shared) return wrong();
    if (!read_all(shared ? second : first, limit.events)) return wrong();
    return limit;
}

std::string IncompleteLimit::text() const {
    if (share == 0) return fmt::to_string(events);
    const auto percent = fmt::format("{:g}%", share * 100);
    return events == 0 ? percent : fmt::format("{} or {}", percent, events);
}

Result<MaskRule> parse_mask_rule(std::string_view text) {
    constexpr std::string_view unit = "events";
    text = trimmed(text);
    MaskRule rule;
    if (text.empty()) return rule;
    if (text.ends_with(unit)) {
        if (!read_all(trimmed(text.substr(0, text.size() - unit.size())), rule.events) || rule.events == 0)
            return fail(Errc::usage, "is no number of events; write \"100 events\"");
        return rule;
    }
    const auto time = parse_duration(text);
    if (!time || *time < std::chrono::milliseconds(1))
        return fail(Errc::usage, "is neither a number of events nor a time; write \"100 events\" or \"30s\"");
    rule.time = std::chrono::duration_cast<std::chrono::milliseconds>(*time);
    return rule;
}

}  // namespace weir::control
