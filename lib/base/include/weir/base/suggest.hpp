// SPDX-License-Identifier: Apache-2.0
// "did you mean": the known word nearest to an unknown one, for options, configuration keys and names.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weir {

/// The nearest of `known` when few enough letters differ (a swap of neighbours counts as one); else nothing.
[[nodiscard]] std::optional<std::string> nearest_word(std::string_view word, std::span<const std::string> known);

/// "; did you mean \"X\"?", or an empty text.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string> known);

}  // namespace weir
