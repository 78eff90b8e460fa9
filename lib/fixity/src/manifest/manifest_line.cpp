// SPDX-License-Identifier: Apache-2.0
#include "manifest/manifest_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "hex.hpp"

namespace weir::fixity {
namespace {

using digest::Algorithm;
using digest::Digest;

/// A value with all its digits; an adler32 also without its leading zeros, as CASTOR and others wrote it.
std::optional<Digest> parse_value(Algorithm algorithm, std::string_view text, std::string& warning) {
    const auto digits = 2 * digest::digest_size(algorithm);
    if (text.size() != digits) {
        if (algorithm != Algorithm::adler32 || text.empty() || text.size() > digits) return std::nullopt;
        warning = "the adler32 has no leading zeros";
    }
    auto value = Digest::parse(algorithm, text);
    return value ? std::optional(*value) : std::nullopt;
}

/// Undoes the escapes of coreutils; nothing when a backslash stands before anything else.
std::optional<std::string> unescaped(std::string_view text) {
    std::string name;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\') {
            name += text[i];
            continue;
        }
        if (++i == text.size()) return std::nullopt;
        switch (text[i]) {
            case '\\': name += '\\'; break;
            case 'n': name += '\n'; break;
            case 'r': name += '\r'; break;
            default: return std::nullopt;
        }
    }
    return name;
}

std::optional<std::string> name_in(std::string_view text, bool escaped) {
    if (text.empty() || text.find('\0') != std::string_view::npos) return std::nullopt;
    return escaped ? unescaped(text) : std::string(text);
}

bool take_escape_mark(std::string_view& line, bool escapes) {
    if (!escapes || !line.starts_with('\\')) return false;
    line.remove_prefix(1);
    return true;
}

template <class T>
std::optional<T> decimal(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

struct BsdParts {
    std::string_view tag, name, value;
};

/// "TAG (name) = value" as coreutils and BSD, with a TAG that is filled with blanks as rhash, "TAG(name)= value" as
/// openssl.
std::optional<BsdParts> parts_of_bsd(std::string_view line) {
    const auto open = line.find('(');
    if (open == std::string_view::npos || open == 0) return std::nullopt;
    auto tag = line.substr(0, open);
    const bool openssl = tag.back() != ' ';
    tag = tag.substr(0, tag.find_last_not_of(' ') + 1);
    const auto is_of_tag = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_' ||
               c == '/';
    };
    if (tag.empty() || !std::ranges::all_of(tag, is_of_tag)) return std::nullopt;
    const std::string_view middle = openssl ? ")= " : ") = ";
    const auto close = line.rfind(middle);  // a name may have one of its own
    if (close == std::string_view::npos || close <= open) return std::nullopt;
    const auto value = line.substr(close + middle.size());
    if (value.empty() || !std::ranges::all_of(value, [](char c) { return hex_digit(c) >= 0; })) return std::nullopt;
    return BsdParts{tag, line.substr(open + 1, close - open - 1), value};
}

/// The algorithms whose values have so many digits.
std::vector<Algorithm> candidates(std::size_t digits, const GnuGuess& guess) {
    const auto fits = [&](Algorithm a) {
        return 2 * digest::digest_size(a) == digits || (a == Algorithm::adler32 && digits >= 1 && digits < 8);
    };
    if (guess.stated) return fits(*guess.stated) ? std::vector{*guess.stated} : std::vector<Algorithm>{};
    if (guess.probable && fits(*guess.probable)) return {*guess.probable};
    std::vector<Algorithm> all;
    if (digits < 5) return all;  // four leading zeros are less likely than a line that is something else
    for (const auto algorithm : digest::algorithms) {
        if (fits(algorithm)) all.push_back(algorithm);
    }
    return all;
}

}  // namespace

std::optional<ParsedLine> parse_bsd_line(std::string_view line, bool escapes) {
    const bool escaped = take_escape_mark(line, escapes);
    const auto parts = parts_of_bsd(line);
    if (!parts) return std::nullopt;
    const auto algorithm = algorithm_of_tag(parts->tag);
    if (!algorithm) return std::nullopt;
    ParsedLine parsed;
    const auto value = parse_value(*algorithm, parts->value, parsed.warning);
    auto name = name_in(parts->name, escaped);
    if (!value || !name) return std::nullopt;
    parsed.entry.name = std::move(*name);
    parsed.entry.sums.push_back(*value);
    return parsed;
}

std::optional<ParsedLine> parse_gnu_line(std::string_view line, bool escapes, const GnuGuess& guess) {
    const bool escaped = take_escape_mark(line, escapes);
    auto own = guess;
    if (constexpr std::string_view mark = "XXH3_"; line.starts_with(mark)) {  // written by xxhsum -H3
        own.stated = Algorithm::xxh3_64;
        line.remove_prefix(mark.size());
    }
    const auto digits = line.find(' ');
    if (digits == std::string_view::npos || digits == 0) return std::nullopt;
    const auto value = line.substr(0, digits);
    if (std::ranges::any_of(value, [](char c) { return hex_digit(c) < 0; })) return std::nullopt;
    // Two blanks, or a blank and a star; one blank as xrdadler32 writes it.
    auto rest = line.substr(digits + 1);
    if (rest.size() > 1 && (rest.front() == ' ' || rest.front() == '*')) rest.remove_prefix(1);
    auto name = name_in(rest, escaped);
    const auto possible = candidates(digits, own);
    if (!name || possible.empty()) return std::nullopt;
    ParsedLine parsed;
    parsed.entry.name = std::move(*name);
    auto& sums = possible.size() == 1 ? parsed.entry.sums : parsed.entry.one_of;
    for (const auto algorithm : possible) {
        const auto sum = parse_value(algorithm, value, parsed.warning);
        if (!sum) return std::nullopt;
        sums.push_back(*sum);
    }
    return parsed;
}

std::optional<ParsedLine> parse_sfv_line(std::string_view line) {
    const auto blank = line.find_last_of(" \t");
    if (blank == std::string_view::npos || blank == 0) return std::nullopt;
    ParsedLine parsed;
    const auto value = parse_value(Algorithm::crc32, line.substr(blank + 1), parsed.warning);
    auto text = line.substr(0, blank);
    text = text.substr(0, text.find_last_not_of(" \t") + 1);  // some programs align the values
    auto name = name_in(text, false);
    if (!value || !name) return std::nullopt;
    parsed.entry.name = std::move(*name);
    parsed.entry.sums.push_back(*value);
    return parsed;
}

std::optional<ParsedLine> parse_cksum_line(std::string_view line) {
    const auto first = line.find(' ');
    const auto second = first == std::string_view::npos ? first : line.find(' ', first + 1);
    if (second == std::string_view::npos) return std::nullopt;
    const auto value = decimal<std::uint32_t>(line.substr(0, first));
    const auto size = decimal<std::uint64_t>(line.substr(first + 1, second - first - 1));
    auto name = name_in(line.substr(second + 1), false);
    if (!value || !size || !name) return std::nullopt;
    ParsedLine parsed;
    parsed.entry.name = std::move(*name);
    parsed.entry.size = *size;
    parsed.entry.sums.push_back(Digest::of_number(Algorithm::cksum, *value));
    return parsed;
}

std::optional<ParsedLine> parse_hashdeep_line(std::string_view line,
                                              std::span<const std::optional<Algorithm>> columns) {
    const auto field = [&line]() -> std::optional<std::string_view> {
        const auto comma = line.find(',');
        if (comma == std::string_view::npos) return std::nullopt;
        const auto text = line.substr(0, comma);
        line.remove_prefix(comma + 1);
        return text;
    };
    const auto size_text = field();
    const auto size = size_text ? decimal<std::uint64_t>(*size_text) : std::nullopt;
    if (!size) return std::nullopt;
    ParsedLine parsed;
    parsed.entry.size = *size;
    for (const auto& algorithm : columns) {
        const auto text = field();
        if (!text) return std::nullopt;
        if (!algorithm) continue;
        const auto value = parse_value(*algorithm, *text, parsed.warning);
        if (!value) return std::nullopt;
        parsed.entry.sums.push_back(*value);
    }
    auto name = name_in(line, false);
    if (!name) return std::nullopt;
    parsed.entry.name = std::move(*name);
    return parsed;
}

bool looks_like_bsd(std::string_view line) {
    if (line.starts_with('\\')) line.remove_prefix(1);
    if (parts_of_bsd(line)) return true;
    const auto open = line.find(" (");
    return open != std::string_view::npos && algorithm_of_tag(line.substr(0, open)).has_value();
}

std::optional<std::string_view> unknown_tag(std::string_view line) {
    if (line.starts_with('\\')) line.remove_prefix(1);
    const auto parts = parts_of_bsd(line);
    return parts && !algorithm_of_tag(parts->tag) ? std::optional(parts->tag) : std::nullopt;
}

std::optional<ParsedLine> parse_deep_line(std::string_view line, const GnuGuess& guess) {
    const auto size_end = line.find("  ");
    if (size_end == std::string_view::npos) return std::nullopt;
    const auto size = decimal<std::uint64_t>(line.substr(0, size_end));
    const auto rest = line.substr(size_end + 2);
    // The digits of a hash, and not of a number: else it is a sum and a name that begins with one.
    constexpr std::size_t digits_min = 32;
    const auto digits = rest.find(' ');
    if (!size || digits == std::string_view::npos || digits < digits_min || !rest.substr(digits).starts_with("  "))
        return std::nullopt;
    auto parsed = parse_gnu_line(rest, false, guess);
    if (parsed) parsed->entry.size = *size;
    return parsed;
}

std::optional<ParsedLine> parse_cfv_line(std::string_view line) {
    if (!line.ends_with(',')) return std::nullopt;
    line.remove_suffix(1);
    const auto second = line.rfind(',');
    const auto first =
        second == std::string_view::npos || second == 0 ? std::string_view::npos : line.rfind(',', second - 1);
    if (first == std::string_view::npos) return std::nullopt;
    ParsedLine parsed;
    const auto size = decimal<std::uint64_t>(line.substr(first + 1, second - first - 1));
    const auto text = line.substr(second + 1);
    const auto value = text.size() == 8 ? parse_value(Algorithm::crc32, text, parsed.warning) : std::nullopt;
    auto name = name_in(line.substr(0, first), false);
    if (!size || !value || !name) return std::nullopt;
    parsed.entry.name = std::move(*name);
    parsed.entry.size = *size;
    parsed.entry.sums.push_back(*value);
    return parsed;
}

std::optional<Algorithm> algorithm_of_file_name(std::string_view path) {
    std::string name(path.substr(path.rfind('/') + 1));
    std::ranges::transform(name, name.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    struct Word {
        std::string_view text;
        Algorithm algorithm;
    };
    // A longer word before one that it contains.
    static constexpr std::array words{
        Word{"adler32", Algorithm::adler32},
        Word{"crc32c", Algorithm::crc32c},
        Word{"crc32", Algorithm::crc32},
        Word{"cksum", Algorithm::cksum},
        Word{"crc64-xz", Algorithm::crc64_xz},
        Word{"crc64-nvme", Algorithm::crc64_nvme},
        Word{"crc64-ecma182", Algorithm::crc64_ecma182},
        Word{"md5", Algorithm::md5},
        Word{"sha256", Algorithm::sha256},
        Word{"sha224", Algorithm::sha224},
        Word{"sha384", Algorithm::sha384},
        Word{"sha512", Algorithm::sha512},
        Word{"sha3-256", Algorithm::sha3_256},
        Word{"blake2b", Algorithm::blake2b},
        Word{"b2sum", Algorithm::blake2b},
        Word{"xxh32", Algorithm::xxh32},
        Word{"sha1", Algorithm::sha1},
        Word{"xxh128", Algorithm::xxh3_128},
        Word{"xxh3-128", Algorithm::xxh3_128},
        Word{"xxh3-64", Algorithm::xxh3_64},
        Word{"xxh64", Algorithm::xxh64},
        Word{"blake3", Algorithm::blake3},
        Word{"b3sum", Algorithm::blake3},
        Word{"hwh64", Algorithm::hwh64},
    };
    for (const auto& word : words) {
        if (name.find(word.text) != std::string::npos) return word.algorithm;
    }
    return std::nullopt;
}

}  // namespace weir::fixity
