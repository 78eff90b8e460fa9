// SPDX-License-Identifier: Apache-2.0
// Seeds and their number for tests that draw, from the environment: by default the tests run few, a search runs many.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>

namespace weir::testing {

/// Nothing when the variable is not set; throws when it is no number.
[[nodiscard]] inline std::optional<std::uint64_t> number_in(const char* variable) {
    const char* text = std::getenv(variable);
    if (text == nullptr) return std::nullopt;
    std::uint64_t value = 0;
    const std::string_view all(text);
    const auto read = std::from_chars(all.data(), all.data() + all.size(), value);
    if (read.ec != std::errc{} || read.ptr != all.data() + all.size())
        throw std::runtime_error(fmt::format("{} is \"{}\"; give it a number", variable, all));
    return value;
}

/// For a test that draws: WEIR_SEED, or another seed at each run. The test shows it with SCOPED_TRACE(again(seed)).
[[nodiscard]] inline std::uint64_t drawn_seed() { return number_in("WEIR_SEED").value_or(std::random_device{}()); }

/// What repeats a test that drew and failed.
[[nodiscard]] inline std::string again(std::uint64_t seed) { return fmt::format("again: WEIR_SEED={}", seed); }

}  // namespace weir::testing
