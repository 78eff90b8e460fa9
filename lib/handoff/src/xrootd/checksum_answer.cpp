// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "weir/fixity/attributes.hpp"
#include "weir/handoff/xrootd_destination.hpp"

namespace weir::handoff {
namespace {

/// The next word, taken off the front.
std::string_view word_of(std::string_view& text) {
    constexpr std::string_view blanks(" \t\r\n\0", 5);
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    const auto word = text.substr(0, text.find_first_of(blanks));
    text.remove_prefix(word.size());
    return word;
}

}  // namespace

std::optional<digest::Digest> parse_checksum_answer(std::string_view answer, digest::Algorithm algorithm) {
    const auto kind = word_of(answer);
    const auto value = word_of(answer);
    if (kind != fixity::xrootd_name(algorithm) || !word_of(answer).empty()) return std::nullopt;
    auto sum = digest::Digest::parse(algorithm, value);
    if (!sum) return std::nullopt;
    return *sum;
}

}  // namespace weir::handoff
