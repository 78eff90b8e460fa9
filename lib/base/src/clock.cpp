// SPDX-License-Identifier: Apache-2.0
#include "weir/base/clock.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace weir {
namespace {

struct TimeUnit {
    std::string_view name;
    std::int64_t nanoseconds;
};

constexpr std::array<TimeUnit, 7> time_units{{{"d", 86'400'000'000'000},
                                              {"h", 3'600'000'000'000},
                                              {"min", 60'000'000'000},
                                              {"s", 1'000'000'000},
                                              {"ms", 1'000'000},
                                              {"us", 1'000},
                                              {"ns", 1}}};

}  // namespace

Result<std::chrono::nanoseconds> parse_duration(std::string_view text) {
    double number = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
    auto unit = text.substr(static_cast<std::size_t>(end - text.data()));
    while (unit.starts_with(' ')) unit.remove_prefix(1);
    if (ec == std::errc{} && number >= 0) {
        for (const auto& known : time_units) {
            if (known.name != unit) continue;
            const double amount = number * static_cast<double>(known.nanoseconds);
            if (!(amount < 9.2e18)) break;
            return std::chrono::nanoseconds{static_cast<std::int64_t>(amount + 0.5)};
        }
    }
    return fail(Errc::usage,
                fmt::format("\"{}\" is not a duration; write a number and a unit: 250ms, 10s, 5min, 2h, 30d", text));
}

std::string to_string(std::chrono::nanoseconds duration) {
    if (duration.count() == 0) return "0s";
    for (const auto& unit : time_units) {
        if (duration.count() % unit.nanoseconds == 0)
            return fmt::format("{}{}", duration.count() / unit.nanoseconds, unit.name);
    }
    return fmt::format("{}ns", duration.count());
}

}  // namespace weir
