// SPDX-License-Identifier: Apache-2.0
#include "weir/base/bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace weir {
namespace {

struct Unit {
    std::string_view name;
    std::uint64_t factor;
};

constexpr std::array<Unit, 14> units{{{"", 1},
                                      {"B", 1},
                                      {"KiB", 1ULL << 10},
                                      {"MiB", 1ULL << 20},
                                      {"GiB", 1ULL << 30},
                                      {"TiB", 1ULL << 40},
                                      {"kB", 1000},
                                      {"KB", 1000},
                                      {"MB", 1000ULL * 1000},
                                      {"GB", 1000ULL * 1000 * 1000},
                                      {"TB", 1000ULL * 1000 * 1000 * 1000},
                                      {"K", 1ULL << 10},
                                      {"M", 1ULL << 20},
                                      {"G", 1ULL << 30}}};

}  // namespace

Result<Bytes> parse_bytes(std::string_view text) {
    const auto factor_behind = [text](const char* end) -> std::optional<std::uint64_t> {
        auto unit = text.substr(static_cast<std::size_t>(end - text.data()));
        while (unit.starts_with(' ')) unit.remove_prefix(1);
        const auto known = std::ranges::find(units, unit, &Unit::name);
        return known == units.end() ? std::nullopt : std::optional(known->factor);
    };
    // Whole numbers exactly, up to 2^64 - 1; fractions only of a unit, where what is rounded is less than a byte.
    std::uint64_t whole = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), whole);
    if (ec == std::errc{}) {
        const auto factor = factor_behind(end);
        std::uint64_t amount = 0;
        if (factor && !__builtin_mul_overflow(whole, *factor, &amount)) return Bytes{amount};
    }
    double number = 0;
    const auto [number_end, number_ec] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (ec == std::errc{} && number_ec == std::errc{} && number_end != end && number >= 0) {
        const auto factor = factor_behind(number_end);
        const double amount = number * static_cast<double>(factor.value_or(0));
        if (factor.value_or(1) > 1 && amount < 9.2e18) return Bytes{static_cast<std::uint64_t>(amount + 0.5)};
    }
    return fail(Errc::usage, fmt::format("\"{}\" is not a size; write a number and a unit: 64KiB, 500MB, 4GiB", text));
}

std::string to_string(Bytes amount) {
    constexpr std::array<Unit, 4> binary{
        {{"TiB", 1ULL << 40}, {"GiB", 1ULL << 30}, {"MiB", 1ULL << 20}, {"KiB", 1ULL << 10}}};
    for (const auto& unit : binary) {
        if (amount.count() >= unit.factor && amount.count() % unit.factor == 0)
            return fmt::format("{}{}", amount.count() / unit.factor, unit.name);
    }
    return fmt::format("{}B", amount.count());
}

std::string human(Bytes amount) {
    constexpr std::array<const char*, 6> names{"B", "kB", "MB", "GB", "TB", "PB"};
    auto value = static_cast<double>(amount.count());
    std::size_t step = 0;
    while (value >= 999.5 && step + 1 < names.size()) {
        value /= 1000;
        ++step;
    }
    if (step == 0 || value >= 99.95) return fmt::format("{:.0f} {}", value, names[step]);
    return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : 1, names[step]);
}

}  // namespace weir
