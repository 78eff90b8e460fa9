// SPDX-License-Identifier: Apache-2.0
#include "weir/handoff/priorities.hpp"

#include <fmt/format.h>

#include <charconv>

namespace weir::handoff {

bool matches(std::string_view pattern, std::string_view text) noexcept {
    // One star is tried at a time, the last one passed: linear but for the text behind it.
    std::size_t p = 0, t = 0;
    auto star = std::string_view::npos;
    std::size_t star_text = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            star_text = t;
        } else if (p < pattern.size() && pattern[p] == text[t]) {
            ++p;
            ++t;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            t = ++star_text;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

Result<Priorities> Priorities::parse(const std::vector<std::string>& rules) {
    Priorities priorities;
    for (const auto& rule : rules) {
        const auto equals = rule.rfind('=');
        const auto digits = equals == rule.npos ? std::string_view{} : std::string_view(rule).substr(equals + 1);
        int number = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        if (equals == 0 || digits.empty() || error != std::errc{} || end != digits.data() + digits.size())
            return fail(Errc::usage,
                        fmt::format("\"{}\" is no priority; write PATTERN=NUMBER, for example express_*=1", rule));
        priorities.rules_.push_back({rule.substr(0, equals), number});
    }
    return priorities;
}

int Priorities::of(std::string_view stream) const {
    for (const auto& rule : rules_) {
        if (matches(rule.pattern, stream)) return rule.priority;
    }
    return usual;
}

}  // namespace weir::handoff
