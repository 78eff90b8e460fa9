// SPDX-License-Identifier: Apache-2.0
#include "weir/fixity/manifest_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "manifest/json_text.hpp"
#include "manifest/manifest_marks.hpp"
#include "weir/base/hex.hpp"

namespace weir::fixity {
namespace {

using digest::Algorithm;

bool has_any(std::string_view text, std::string_view of) { return text.find_first_of(of) != std::string_view::npos; }

/// Why the form cannot hold the name; empty: it can.
const char* objection(Format format, bool zero, std::string_view name) {
    if (name.empty()) return "no characters";
    const bool breaks_lines = has_any(name, "\n\r");
    switch (format) {
        case Format::bsd:
        case Format::gnu:
        case Format::json:
        case Format::csv: return "";  // they escape
        case Format::cksum: return breaks_lines && !zero ? "a line break" : "";
        case Format::hashdeep: return breaks_lines ? "a line break" : "";
        case Format::sfv:
            if (breaks_lines) return "a line break";
            if (name.starts_with(';')) return "a semicolon in front";
            if (has_any(name.substr(0, 1), " \t") || has_any(name.substr(name.size() - 1), " \t"))
                return "a blank at an end";
            return "";
        case Format::xrootd:
            if (breaks_lines) return "a line break";
            if (has_any(name.substr(0, 1), " *"))
                return "a blank or star in front";  // a second blank, or md5sum's mark
            if (const auto at = name.find_first_not_of("0123456789"); at > 0 && at < name.size() && name[at] == ' ')
                return "a number in front";  // it would be a line of cksum
            return "";
    }
    return "";
}

/// As coreutils: a backslash before the line marks a name with escapes.
std::string escaped(std::string_view name) {
    std::string text;
    for (const char c : name) {
        if (c == '\\') text += "\\\\";
        else if (c == '\n') text += "\\n";
        else if (c == '\r') text += "\\r";
        else text += c;
    }
    return text;
}

/// In quotation marks where RFC 4180 wants them, and where a program might take blanks away.
std::string csv_field(std::string_view text) {
    if (!has_any(text, ",\"\r\n") && text.front() != ' ' && text.back() != ' ') return std::string(text);
    std::string field = "\"";
    for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
    return field + '"';
}

}  // namespace

Result<ManifestWriter> ManifestWriter::make(Options options) {
    const auto one = options.algorithms.size() == 1 ? std::optional(options.algorithms.front()) : std::nullopt;
    const auto wrong = [&](const char* takes) {
        return fail(Errc::usage, fmt::format("--format {} {}; choose them with -a, or take --format bsd",
                                             name(options.format), takes));
    };
    switch (options.format) {
        case Format::gnu:
        case Format::xrootd:
            if (!one) return wrong("holds one algorithm");
            break;
        case Format::sfv:
            if (one != Algorithm::crc32) return wrong("holds crc32 only");
            break;
        case Format::cksum:
            if (one != Algorithm::cksum) return wrong("holds cksum only");
            break;
        default: break;
    }
    if (options.zero && options.format != Format::gnu && options.format != Format::bsd &&
        options.format != Format::cksum)
        return fail(Errc::usage,
                    fmt::format("--zero: --format {} has no lines that end with NUL; use gnu, bsd or cksum",
                                name(options.format)));
    return ManifestWriter(std::move(options));
}

std::string ManifestWriter::begin() const {
    if (options_.format == Format::json) return "{\"files\":[";
    if (options_.format == Format::sfv) return fmt::format("{}\n", sfv_mark);  // the form is known by its comments
    std::string columns = "size";
    for (const auto algorithm : options_.algorithms) columns += fmt::format(",{}", digest::name(algorithm));
    if (options_.format == Format::csv) return fmt::format("path,{}\r\n", columns);
    if (options_.format != Format::hashdeep) return {};
    return fmt::format("{}\n%%%% {},filename\n## Invoked from: {}\n## $ {}\n## \n", hashdeep_mark, columns,
                       escaped(options_.directory), escaped(options_.invoked));
}

Result<> ManifestWriter::add(const ManifestEntry& entry, std::string& to, std::string_view more) {
    if (const char* why = objection(options_.format, options_.zero, entry.name); *why != '\0')
        return fail(Errc::unsupported, fmt::format("{} has {}, which --format {} cannot hold; use --format bsd or json",
                                                   entry.name, why, name(options_.format)));
    if (!entry.blocks.empty() && (options_.format == Format::csv || options_.format == Format::xrootd))
        return fail(Errc::unsupported,
                    fmt::format("{} has a block map, which --format {} cannot hold; use --format bsd or json",
                                entry.name, name(options_.format)));
    if (options_.format == Format::json) {
        add_json(entry, to, more);
    } else {
        add_lines(entry, to);
        add_blocks(entry.blocks, to);
    }
    return {};
}

void ManifestWriter::add_lines(const ManifestEntry& entry, std::string& to) const {
    const bool escape = !options_.zero && has_any(entry.name, "\\\n\r");
    const auto& sums = entry.sums;
    const auto out = std::back_inserter(to);
    switch (options_.format) {
        case Format::bsd:
            for (const auto& sum : sums)
                fmt::format_to(out, "{}{} ({}) = {}{}", escape ? "\\" : "", tag_of(sum.algorithm()),
                               escape ? escaped(entry.name) : entry.name, sum.hex(), line_end());
            break;
        case Format::gnu:
            // xxhsum has two sums of 16 digits, and distinguishes them by this.
            fmt::format_to(out, "{}{}{}  {}{}", escape ? "\\" : "",
                           sums.front().algorithm() == digest::Algorithm::xxh3_64 ? "XXH3_" : "", sums.front().hex(),
                           escape ? escaped(entry.name) : entry.name, line_end());
            break;
        case Format::sfv: fmt::format_to(out, "{} {}\n", entry.name, sums.front().hex()); break;
        case Format::cksum:
            fmt::format_to(out, "{} {} {}{}", sums.front().number(), entry.size.value_or(0), entry.name, line_end());
            break;
        case Format::hashdeep:
            fmt::format_to(out, "{}", entry.size.value_or(0));
            for (const auto& sum : sums) fmt::format_to(out, ",{}", sum.hex());
            fmt::format_to(out, ",{}\n", entry.name);
            break;
        case Format::csv:
            fmt::format_to(out, "{},{}", csv_field(entry.name), entry.size ? fmt::to_string(*entry.size) : "");
            for (const auto& sum : sums) fmt::format_to(out, ",{}", sum.hex());
            to += "\r\n";
            break;
        case Format::xrootd: fmt::format_to(out, "{} {}\n", sums.front().hex(), entry.name); break;
        case Format::json: break;
    }
}

/// In comment lines, which other tools pass over.
void ManifestWriter::add_blocks(const BlockMap& blocks, std::string& to) const {
    if (blocks.empty()) return;
    const auto mark = options_.format == Format::sfv ? "; " : options_.format == Format::hashdeep ? "## " : "# ";
    const auto out = std::back_inserter(to);
    std::size_t at = 0;
    do {
        fmt::format_to(out, "{}{} {} {}", mark, blocks_mark, blocks.block, at * blocks.block);
        for (std::size_t n = 0; n < blocks_in_line && at < blocks.sums.size(); ++n)
            fmt::format_to(out, " {:08x}", blocks.sums[at++]);
        to += line_end();
    } while (at < blocks.sums.size());
}

void ManifestWriter::add_json(const ManifestEntry& entry, std::string& to, std::string_view more) {
    const auto out = std::back_inserter(to);
    to += first_ ? "\n{\"path\":" : ",\n{\"path\":";
    first_ = false;
    append_json_string(to, entry.name);
    if (!is_utf8(entry.name)) to += ",\"path_hex\":\"" + hex_of(as_data(entry.name)) + '"';
    if (entry.size) fmt::format_to(out, ",\"size\":{}", *entry.size);
    else to += ",\"size\":null";
    to += ",\"sums\":{";
    for (bool first = true; const auto& sum : entry.sums) {
        fmt::format_to(out, "{}\"{}\":\"{}\"", first ? "" : ",", digest::name(sum.algorithm()), sum.hex());
        first = false;
    }
    to += '}';
    if (!entry.blocks.empty()) {
        fmt::format_to(out, ",\"blocks\":{{\"algorithm\":\"crc32c\",\"size\":{},\"sums\":\"", entry.blocks.block);
        for (const auto sum : entry.blocks.sums) fmt::format_to(out, "{:08x}", sum);
        to += "\"}";
    }
    to += more;
    to += '}';
}

std::string ManifestWriter::end(std::string_view more) const {
    return options_.format == Format::json ? fmt::format("\n]{}}}\n", more) : std::string{};
}

}  // namespace weir::fixity
