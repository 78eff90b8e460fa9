// SPDX-License-Identifier: Apache-2.0
// One line of a manifest, in each of the forms that have lines.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "weir/fixity/manifest.hpp"

namespace weir::fixity {

struct ParsedLine {
    ManifestEntry entry;
    std::string warning;  // empty: none
};

/// The algorithm of lines of the form hex-and-name, which do not state it.
struct GnuGuess {
    std::optional<digest::Algorithm> stated;    // by the user: nothing else is accepted
    std::optional<digest::Algorithm> probable;  // from the manifest's name: when it fits the digits
};

// Each: nothing when the line is not of that form.
[[nodiscard]] std::optional<ParsedLine> parse_bsd_line(std::string_view line, bool escapes);
[[nodiscard]] std::optional<ParsedLine> parse_gnu_line(std::string_view line, bool escapes, const GnuGuess& guess);
[[nodiscard]] std::optional<ParsedLine> parse_sfv_line(std::string_view line);
[[nodiscard]] std::optional<ParsedLine> parse_cksum_line(std::string_view line);
/// `columns`: the algorithms between size and name; nothing for one that we do not have.
[[nodiscard]] std::optional<ParsedLine> parse_hashdeep_line(std::string_view line,
                                                            std::span<const std::optional<digest::Algorithm>> columns);

/// "      1234  9001...7f72  name", as sha256deep -z and its kin print it.
[[nodiscard]] std::optional<ParsedLine> parse_deep_line(std::string_view line, const GnuGuess& guess);
/// "name,1234,352441c2,", a row of cfv's table: crc32.
[[nodiscard]] std::optional<ParsedLine> parse_cfv_line(std::string_view line);

/// It is a line of that form with any algorithm, or begins like one of ours.
[[nodiscard]] bool looks_like_bsd(std::string_view line);
/// Of a line of that form: its algorithm, when weir does not have it.
[[nodiscard]] std::optional<std::string_view> unknown_tag(std::string_view line);

/// The algorithm that a manifest's file name implies: "SHA256SUMS", "run7.md5", "adler32.txt".
[[nodiscard]] std::optional<digest::Algorithm> algorithm_of_file_name(std::string_view path);

}  // namespace weir::fixity
