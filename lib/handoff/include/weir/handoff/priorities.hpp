// SPDX-License-Identifier: Apache-2.0
// Which stream goes first: patterns like "express_*" with a number, the first that matches counts, and the
// smaller number goes first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.hpp"

namespace weir::handoff {

class Priorities {
public:
    /// Each "PATTERN=NUMBER", with * for any letters. Errc::usage: it is not.
    [[nodiscard]] static Result<Priorities> parse(const std::vector<std::string>& rules);

    /// Of a stream "type_name"; 100 when no rule matches.
    [[nodiscard]] int of(std::string_view stream) const;

    static constexpr int usual = 100;

private:
    struct Rule {
        std::string pattern;
        int priority;
    };
    std::vector<Rule> rules_;
};

/// With * for any number of letters.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view text) noexcept;

}  // namespace weir::handoff
