// SPDX-License-Identifier: Apache-2.0
// Manifests of lines. The first line that is understood decides the form; neighbouring lines of
// one file are one entry, so that a file with three sums is read once.
#include <fmt/format.h>

#include <algorithm>

#include "hex.hpp"
#include "manifest/manifest_line.hpp"
#include "manifest/manifest_marks.hpp"
#include "manifest/manifest_parser.hpp"

namespace weir::fixity {
namespace {

using Item = ManifestReader::Item;

class LineParser final : public ManifestParser {
public:
    LineParser(ByteStream bytes, ManifestReader::Options options)
        : bytes_(std::move(bytes)), options_(std::move(options)) {
        guess_ = {options_.algorithm, algorithm_of_file_name(options_.name)};
        auto name = options_.name;
        std::ranges::transform(name, name.begin(),
                               [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
        if (name.ends_with(".sfv") || bytes_.peek() == ';') format_ = Format::sfv;
    }

    Result<std::optional<Item>> next() override {
        while (ready_.empty() && !over_) take_line();
        if (ready_.empty()) {
            if (bytes_.error()) return std::unexpected(*bytes_.error());
            return std::nullopt;
        }
        auto item = std::move(ready_.front());
        ready_.pop_front();
        return item;
    }

    std::optional<Format> format() const noexcept override { return format_; }

private:
    void take_line() {
        std::string text;
        const auto got = bytes_.get_line(text, options_.zero ? '\0' : '\n', line_size_max);
        ++line_;
        if (got == ByteStream::Line::none) {
            over_ = true;
            // The entry before a read error may have lost its last lines: it is not returned.
            if (bytes_.error()) pending_.reset();
            return flush();
        }
        if (got == ByteStream::Line::too_long) return problem(fmt::format("has more than {} bytes", line_size_max));
        // The first line decides whether all end with CR LF: a CR at the end of one alone belongs to its name.
        if (line_ == 1) crlf_ = !options_.zero && text.ends_with('\r');
        std::string_view line = text;
        if (crlf_ && line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty()) return;
        if (is_comment(line)) return comment(line);
        auto parsed = parse(line);
        if (!parsed) return problem(fmt::format("is not understood{}", hint(line)));
        if (!parsed->warning.empty()) problem(std::move(parsed->warning), false);
        parsed->entry.line = line_;
        add(std::move(parsed->entry));
    }

    bool is_comment(std::string_view line) const {
        if (format_ == Format::sfv) return line.starts_with(';');
        return line.starts_with('#') || line.starts_with("%%%%");
    }

    void comment(std::string_view line) {
        if (line.starts_with(hashdeep_mark)) format_ = Format::hashdeep;
        else if (format_ == Format::hashdeep && line.starts_with("%%%% ")) return columns(line.substr(5));
        if (const auto at = line.find(blocks_mark); at != std::string_view::npos && at <= 3) {
            if (!blocks(line.substr(at + blocks_mark.size()))) {
                problem("is no block map of the file before it");
                if (pending_) pending_->blocks = {};
            }
        } else if (options_.comment && !line.starts_with("%%%%")) {
            options_.comment(line_, line);
        }
    }

    void columns(std::string_view text) {
        columns_.clear();
        while (!text.empty()) {
            const auto word = text.substr(0, text.find(','));
            text.remove_prefix(std::min(text.size(), word.size() + 1));
            if (word == "size" || word == "filename") continue;
            columns_.push_back(digest::parse_algorithm(word));
            if (!columns_.back())
                problem(fmt::format("has the sum {}, which weir does not know; it is passed over", word), false);
        }
    }

    /// " <block> <offset> <sum>...": continues the map of the entry that is being put together.
    bool blocks(std::string_view text) {
        const auto word = [&text]() -> std::string_view {
            text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
            const auto found = text.substr(0, text.find(' '));
            text.remove_prefix(found.size());
            return found;
        };
        const auto number = [](std::string_view digits) -> std::optional<std::uint64_t> {
            std::uint64_t value = 0;
            if (digits.empty() || digits.size() > 18) return std::nullopt;
            for (const char c : digits) {
                if (c < '0' || c > '9') return std::nullopt;
                value = 10 * value + static_cast<std::uint64_t>(c - '0');
            }
            return value;
        };
        const auto block = number(word());
        const auto offset = number(word());
        if (!pending_ || !block || !offset || *block < block_size_min) return false;
        auto& map = pending_->blocks;
        if (map.empty() ? *offset != 0
                        : map.block != *block || *offset / *block != map.sums.size() || *offset % *block != 0)
            return false;
        map.block = *block;
        for (auto sum = word(); !sum.empty(); sum = word()) {
            const auto value = sum.size() == 8 ? parse_hex(sum) : std::nullopt;
            if (!value || map.sums.size() >= blocks_in_file_max) return false;
            map.sums.push_back(static_cast<std::uint32_t>(*value));
        }
        return true;
    }

    std::optional<ParsedLine> parse(std::string_view line) {
        const bool escapes = !options_.zero;
        if (format_ == Format::hashdeep) return parse_hashdeep_line(line, columns_);
        if (format_ == Format::sfv) return parse_sfv_line(line);
        if (format_ == Format::cksum) return parse_cksum_line(line);
        const auto as = [&](Format format, std::optional<ParsedLine> parsed) {
            if (parsed && !format_) format_ = format;
            return parsed;
        };
        const auto whole = line;
        if (escapes) line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));  // as coreutils does
        // Lines of these may stand in one manifest; each names its algorithm.
        if (auto parsed = as(Format::bsd, parse_bsd_line(line, escapes))) return parsed;
        if (auto parsed = as(Format::gnu, parse_deep_line(line, guess_))) return parsed;
        // Also a value and a name in the form with one blank, but then the name would begin with a number.
        if (!format_ && options_.algorithm.value_or(digest::Algorithm::cksum) == digest::Algorithm::cksum) {
            if (auto parsed = as(Format::cksum, parse_cksum_line(line))) return parsed;
        }
        if (auto parsed = as(Format::gnu, parse_gnu_line(line, escapes, guess_))) return parsed;
        // "MD5 (x) = 90015098" is a line that was cut off, not a file with that name.
        if (looks_like_bsd(line)) format_ = Format::bsd;
        // Also these two; a name may begin with a blank.
        if (!format_ || format_ == Format::csv) {
            if (auto parsed = as(Format::csv, parse_cfv_line(whole))) return parsed;
        }
        return format_ ? std::nullopt : as(Format::sfv, parse_sfv_line(whole));
    }

    static std::string hint(std::string_view line) {
        if (line.starts_with("\xff\xfe") || line.starts_with("\xfe\xff"))
            return ": it is UTF-16 text; convert it to UTF-8";
        if (const auto tag = unknown_tag(line)) return fmt::format(": weir does not know the sum {}", *tag);
        if (line.find('\0') != std::string_view::npos)
            return ": it has NUL bytes; --zero reads lines that end with them";
        return {};
    }

    void add(ManifestEntry entry) {
        if (pending_ && pending_->name == entry.name && pending_->one_of.empty() && entry.one_of.empty() &&
            pending_->blocks.empty()) {
            const auto same = [&](const auto& sum) { return sum.algorithm() == entry.sums.front().algorithm(); };
            if (entry.sums.size() == 1 && std::ranges::none_of(pending_->sums, same)) {
                pending_->sums.push_back(entry.sums.front());
                return;
            }
        }
        flush();
        pending_ = std::move(entry);
    }

    void flush() {
        if (pending_) ready_.emplace_back(std::move(*pending_));
        pending_.reset();
    }

    void problem(std::string text, bool malformed = true) {
        ready_.emplace_back(ManifestProblem{line_, std::move(text), malformed});
    }

    ByteStream bytes_;
    ManifestReader::Options options_;
    GnuGuess guess_;
    std::optional<Format> format_;
    std::vector<std::optional<digest::Algorithm>> columns_;
    std::uint64_t line_ = 0;
    bool crlf_ = false;
    bool over_ = false;
    std::optional<ManifestEntry> pending_;
    std::deque<Item> ready_;
};

}  // namespace

std::unique_ptr<ManifestParser> make_line_parser(ByteStream bytes, ManifestReader::Options options) {
    return std::make_unique<LineParser>(std::move(bytes), std::move(options));
}

}  // namespace weir::fixity
