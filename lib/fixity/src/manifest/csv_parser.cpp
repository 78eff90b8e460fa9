// SPDX-License-Identifier: Apache-2.0
// The manifest that is a table: path,size and a column for each algorithm, as RFC 4180 writes them. A name with a line
// break stands in quotation marks, so a record may have several lines.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "manifest/manifest_marks.hpp"
#include "manifest/manifest_parser.hpp"

namespace weir::fixity {
namespace {

using Item = ManifestReader::Item;

class CsvParser final : public ManifestParser {
public:
    explicit CsvParser(ByteStream bytes) : bytes_(std::move(bytes)) {}

    std::optional<Format> format() const noexcept override { return Format::csv; }

    Result<std::optional<Item>> next() override {
        if (record_ == 0) take_header();
        while (warnings_.empty()) {
            while (bytes_.peek() == '\r' || bytes_.peek() == '\n') get();
            if (bytes_.peek() < 0) break;
            const auto line = line_;
            const bool whole = take_record();
            if (bytes_.error()) break;  // half a record is none
            auto entry = whole ? entry_of_record(line) : std::nullopt;
            if (entry) return Item(std::move(*entry));
            return Item(ManifestProblem{line, too_large_ ? too_large : "is not understood"});
        }
        if (!warnings_.empty()) {
            Item item = std::move(warnings_.front());
            warnings_.pop_front();
            return item;
        }
        if (bytes_.error()) return std::unexpected(*bytes_.error());
        return std::nullopt;
    }

private:
    int get() {
        const int byte = bytes_.get();
        if (byte == '\n') ++line_;
        return byte;
    }

    /// The fields up to the end of the record. False: it is malformed; the next one begins behind the next line break.
    bool take_record() {
        ++record_;
        too_large_ = false;
        if (take_fields()) {
            take('\r');
            if (take('\n') || bytes_.peek() < 0) return true;
        }
        for (int byte = bytes_.peek(); byte >= 0 && byte != '\n'; byte = bytes_.peek()) get();
        return false;
    }

    bool take_fields() {
        fields_.clear();
        room_ = line_size_max;
        do {
            too_large_ = fields_.size() == columns_max;
            if (too_large_) return false;
            fields_.emplace_back();
            if (!take_field(fields_.back())) return false;
        } while (take(','));
        return true;
    }

    bool add(std::string& field, int byte) {
        too_large_ = room_ == 0;
        if (too_large_) return false;
        --room_;
        field += static_cast<char>(byte);
        return true;
    }

    bool take(char c) {
        if (bytes_.peek() != c) return false;
        get();
        return true;
    }

    /// It is followed by a comma or the end of the record.
    bool take_field(std::string& field) {
        if (take('"')) {
            for (int byte = get(); byte != '"' || take('"'); byte = get()) {
                if (byte < 0 || !add(field, byte)) return false;
            }
        } else {
            for (int byte = bytes_.peek(); byte >= 0 && byte != ',' && byte != '\r' && byte != '\n';
                 byte = bytes_.peek()) {
                if (byte == '"' || !add(field, byte)) return false;
                get();
            }
        }
        const int end = bytes_.peek();
        return end < 0 || end == ',' || end == '\r' || end == '\n';
    }

    void take_header() {
        if (!take_record()) return warnings_.push_back({1, too_large_ ? too_large : "is not understood", true});
        for (std::size_t i = 2; i < fields_.size(); ++i) {
            columns_.push_back(digest::parse_algorithm(fields_[i]));
            if (!columns_.back())
                warnings_.push_back(
                    {1, fmt::format("has the sum {}, which weir does not know; it is passed over", fields_[i]), false});
        }
    }

    std::optional<ManifestEntry> entry_of_record(std::uint64_t line) const {
        if (fields_.size() != columns_.size() + 2 || fields_[0].empty() || fields_[0].find('\0') != std::string::npos)
            return std::nullopt;
        ManifestEntry entry;
        entry.name = fields_[0];
        entry.line = line;
        if (const auto& text = fields_[1]; !text.empty()) {
            std::uint64_t size = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
            if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
            entry.size = size;
        }
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            const auto& text = fields_[i + 2];
            if (!columns_[i] || text.empty()) continue;
            // All digits: a value that was cut off must not look like one without leading zeros.
            const auto sum = digest::Digest::parse(*columns_[i], text);
            if (!sum || text.size() != 2 * digest::digest_size(*columns_[i])) return std::nullopt;
            entry.sums.push_back(*sum);
        }
        return entry;
    }

    static constexpr std::size_t columns_max = 64;  // path, size, and more algorithms than there are
    inline static const std::string too_large =
        fmt::format("has more than {} bytes or {} columns", line_size_max, columns_max);

    ByteStream bytes_;
    std::uint64_t line_ = 1, record_ = 0;
    std::size_t room_ = 0;  // how many bytes this record may still have
    bool too_large_ = false;
    std::vector<std::string> fields_;
    std::vector<std::optional<digest::Algorithm>> columns_;
    std::deque<ManifestProblem> warnings_;
};

}  // namespace

std::unique_ptr<ManifestParser> make_csv_parser(ByteStream bytes) {
    return std::make_unique<CsvParser>(std::move(bytes));
}

}  // namespace weir::fixity
