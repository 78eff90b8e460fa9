// SPDX-License-Identifier: Apache-2.0
#include "weir/catalogue/file_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weir::catalogue {
namespace {

struct Width {
    std::string_view algorithm;
    std::size_t digits;
};

constexpr std::array<Width, 21> widths{
    {{"adler32", 8},        {"crc32", 8},     {"cksum", 8},  {"crc32c", 8},  {"crc64-xz", 16}, {"crc64-nvme", 16},
     {"crc64-ecma182", 16}, {"md5", 32},      {"sha1", 40},  {"sha256", 64}, {"xxh64", 16},    {"xxh3-64", 16},
     {"xxh3-128", 32},      {"blake3", 64},   {"hwh64", 16}, {"sha224", 56}, {"sha384", 96},   {"sha512", 128},
     {"sha3-256", 64},      {"blake2b", 128}, {"xxh32", 8}}};

constexpr std::size_t digits_max = 128;  // of an algorithm that is not in the list

bool hex(char c) noexcept { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
char lower(char c) noexcept { return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string_view significant(std::string_view digits) noexcept {
    const auto first = digits.find_first_not_of('0');
    return first == digits.npos ? std::string_view{} : digits.substr(first);
}

}  // namespace

Result<std::string> normal_sum(std::string_view algorithm, std::string_view text) {
    const auto* known = std::ranges::find(widths, algorithm, &Width::algorithm);
    const auto limit = known == widths.end() ? digits_max : known->digits;
    if (text.empty() || text.size() > digits_max || !std::ranges::all_of(text, hex) || significant(text).size() > limit)
        return fail(Errc::usage, fmt::format("\"{}\" is not a sum of {}: it has up to {} hex digits",
                                             text.substr(0, digits_max), algorithm.substr(0, 64), limit));
    std::string sum(text);
    std::ranges::transform(sum, sum.begin(), lower);
    if (known == widths.end()) return sum;
    const auto digits = significant(sum);
    return std::string(limit - digits.size(), '0').append(digits);
}

bool same_sum(std::string_view a, std::string_view b) noexcept {
    if (a.empty() || b.empty() || !std::ranges::all_of(a, hex) || !std::ranges::all_of(b, hex)) return false;
    return std::ranges::equal(significant(a), significant(b), {}, lower, lower);
}

}  // namespace weir::catalogue
