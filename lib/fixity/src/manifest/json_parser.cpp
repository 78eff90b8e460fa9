// SPDX-License-Identifier: Apache-2.0
// The manifest that is a JSON document, as `weir sum --json` prints it, or several of them one behind the other.
// Boost.JSON goes through the text piece by piece and calls the functions below, so that no document is held as a
// whole. Fields that we do not know are passed over.
#include <fmt/format.h>

#include <boost/json/basic_parser_impl.hpp>

#include "hex.hpp"
#include "manifest/manifest_marks.hpp"
#include "manifest/manifest_parser.hpp"

namespace weir::fixity {
namespace {

namespace json = boost::json;
using Item = ManifestReader::Item;
using Code = boost::system::error_code;

constexpr std::size_t text_max = 1U << 16;  // of a key or name
constexpr unsigned char depth_max = 64;

std::optional<std::string> bytes_of_hex(std::string_view text) {
    if (text.empty() || text.size() % 2 != 0) return std::nullopt;
    std::string bytes;
    for (; !text.empty(); text.remove_prefix(2)) {
        const auto byte = parse_hex(text.substr(0, 2));
        if (!byte) return std::nullopt;
        bytes += static_cast<char>(static_cast<unsigned char>(*byte));
    }
    return bytes;
}

/// Takes the calls of the parser, makes entries of them. A call that gives false ends the document.
class Builder {
public:
    static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
    static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
    static constexpr std::size_t max_key_size = text_max;
    static constexpr std::size_t max_string_size = std::size_t{1} << 30;  // also of one that is not needed and not kept

    std::deque<Item> ready;
    std::uint64_t files = 0;

    bool on_document_begin(Code&) { return place_ = Place::outside, has_files_ = false, true; }
    bool on_document_end(Code& code) { return has_files_ || broken(code); }

    bool on_object_begin(Code& code) {
        if (passed_over_ > 0) return ++passed_over_, true;
        switch (place_) {
            case Place::outside: return place_ = Place::document, true;
            case Place::files: return begin_file();
            case Place::file:
                if (key_ == "sums") return place_ = Place::sums, true;
                if (key_ == "blocks") return begin_blocks();
                break;
            default: break;
        }
        return pass_over(code);
    }
    bool on_object_end(std::size_t, Code& code) {
        if (passed_over_ > 0) return --passed_over_, true;
        switch (place_) {
            case Place::file: return place_ = Place::files, end_file() || broken(code);
            case Place::sums: return place_ = Place::file, true;
            case Place::blocks: return place_ = Place::file, end_blocks() || broken(code);
            default: return place_ = Place::outside, true;
        }
    }
    bool on_array_begin(Code& code) {
        if (passed_over_ > 0) return ++passed_over_, true;
        if (place_ != Place::document || key_ != "files") return pass_over(code);
        place_ = Place::files;
        return has_files_ = true;
    }
    bool on_array_end(std::size_t, Code&) {
        if (passed_over_ > 0) return --passed_over_, true;
        place_ = Place::document;
        return true;
    }

    bool on_key_part(json::string_view part, std::size_t, Code&) { return pending_.append(part), true; }
    bool on_key(json::string_view part, std::size_t, Code&) {
        pending_.append(part);
        if (passed_over_ == 0) key_ = pending_;
        pending_.clear();
        return true;
    }

    bool on_string_part(json::string_view part, std::size_t, Code& code) {
        if (!is_wanted()) return true;
        pending_.append(part);
        return pending_.size() <= limit() || broken(code);
    }
    bool on_string(json::string_view part, std::size_t size, Code& code) {
        if (!on_string_part(part, size, code)) return false;
        const bool good = !is_wanted() || take_string();
        pending_.clear();
        return good || broken(code);
    }

    bool on_number_part(json::string_view, Code&) { return true; }
    bool on_int64(std::int64_t value, json::string_view, Code& code) {
        return value >= 0 ? on_uint64(static_cast<std::uint64_t>(value), {}, code) : pass_over_scalar(code);
    }
    bool on_uint64(std::uint64_t value, json::string_view, Code& code) {
        if (passed_over_ == 0 && key_ == "size" && place_ == Place::file) return entry_.size = value, true;
        if (passed_over_ == 0 && key_ == "size" && place_ == Place::blocks) return entry_.blocks.block = value, true;
        return pass_over_scalar(code);
    }
    bool on_double(double, json::string_view, Code& code) { return pass_over_scalar(code); }
    bool on_bool(bool, Code& code) { return pass_over_scalar(code); }
    bool on_null(Code& code) {
        if (passed_over_ == 0 && place_ == Place::file && key_ == "size") return true;  // it is not known
        return pass_over_scalar(code);
    }
    bool on_comment_part(json::string_view, Code&) { return true; }
    bool on_comment(json::string_view, Code&) { return true; }

private:
    enum class Place { outside, document, files, file, sums, blocks };

    static bool broken(Code& code) {
        code = json::error::syntax;
        return false;
    }

    /// A value here would be understood, were it of the right kind.
    [[nodiscard]] bool is_ours() const noexcept {
        switch (place_) {
            case Place::outside:
            case Place::files:
            case Place::sums: return true;
            case Place::document: return key_ == "files";
            case Place::file:
                return key_ == "path" || key_ == "path_hex" || key_ == "size" || key_ == "sums" || key_ == "blocks";
            case Place::blocks: return key_ == "algorithm" || key_ == "size" || key_ == "sums";
        }
        return false;
    }
    [[nodiscard]] bool pass_over(Code& code) {
        if (is_ours()) return broken(code);
        return ++passed_over_, true;
    }
    [[nodiscard]] bool pass_over_scalar(Code& code) const { return passed_over_ > 0 || !is_ours() || broken(code); }

    [[nodiscard]] bool is_wanted() const noexcept { return passed_over_ == 0 && is_ours(); }
    [[nodiscard]] std::size_t limit() const noexcept {
        return place_ == Place::blocks && key_ == "sums"     ? 8 * blocks_in_file_max
               : place_ == Place::file && key_ == "path_hex" ? 2 * text_max
                                                             : text_max;
    }

    bool begin_file() {
        entry_ = {};
        entry_.line = ++files;
        has_hex_ = false;
        place_ = Place::file;
        return true;
    }
    bool begin_blocks() {
        entry_.blocks = {};
        blocks_algorithm_.clear();
        blocks_text_.clear();
        place_ = Place::blocks;
        return true;
    }

    /// The text in pending_. False: it cannot stand here.
    bool take_string() {
        switch (place_) {
            case Place::file:
                if (key_ == "path" && !has_hex_) return entry_.name = pending_, true;
                if (key_ == "path_hex") {
                    auto name = bytes_of_hex(pending_);
                    if (name) entry_.name = std::move(*name);
                    return has_hex_ = name.has_value();
                }
                return key_ == "path";
            case Place::sums: return take_sum();
            case Place::blocks:
                if (key_ == "algorithm") return blocks_algorithm_ = pending_, true;
                if (key_ == "sums") return blocks_text_ = std::move(pending_), true;
                return false;
            default: return false;
        }
    }

    bool take_sum() {
        const auto algorithm = digest::parse_algorithm(key_);
        if (!algorithm) {
            ready.emplace_back(ManifestProblem{
                files, fmt::format("has the sum {}, which weir does not know; it is passed over", key_), false});
            return true;
        }
        const auto value = digest::Digest::parse(*algorithm, pending_);
        if (!value || pending_.size() != 2 * digest::digest_size(*algorithm)) return false;
        entry_.sums.push_back(*value);
        return true;
    }

    bool end_blocks() {
        if (entry_.blocks.block < block_size_min || blocks_text_.size() % 8 != 0) return false;
        if (blocks_algorithm_ != "crc32c") return entry_.blocks = {}, true;  // of a later version, perhaps
        for (std::string_view rest = blocks_text_; !rest.empty(); rest.remove_prefix(8)) {
            const auto sum = parse_hex(rest.substr(0, 8));
            if (!sum) return false;
            entry_.blocks.sums.push_back(static_cast<std::uint32_t>(*sum));
        }
        blocks_text_ = {};
        return true;
    }

    bool end_file() {
        if (entry_.name.find('\0') != std::string::npos) return false;
        if (entry_.name.empty()) ready.emplace_back(ManifestProblem{files, "has no path", true});
        else ready.emplace_back(std::move(entry_));
        return true;
    }

    Place place_ = Place::outside;
    std::size_t passed_over_ = 0;  // objects and arrays that are open and not ours
    bool has_files_ = false;
    std::string key_, pending_;
    ManifestEntry entry_;
    bool has_hex_ = false;
    std::string blocks_algorithm_, blocks_text_;
};

json::parse_options options() {
    json::parse_options options;
    options.max_depth = depth_max;
    options.allow_invalid_utf8 = true;  // of a name; others have written it so
    return options;
}

class JsonParser final : public ManifestParser {
public:
    explicit JsonParser(ByteStream bytes) : bytes_(std::move(bytes)), parser_(options()) {}

    std::optional<Format> format() const noexcept override { return Format::json; }

    Result<std::optional<Item>> next() override {
        auto& ready = parser_.handler().ready;
        while (ready.empty() && !over_) parse_piece();
        if (ready.empty()) {
            if (bytes_.error()) return std::unexpected(*bytes_.error());
            return std::nullopt;
        }
        auto item = std::move(ready.front());
        ready.pop_front();
        return item;
    }

private:
    void parse_piece() {
        const auto piece = bytes_.piece();
        Code code;
        if (piece.empty()) {
            over_ = true;
            if (!bytes_.error() && !parser_.done()) parser_.write_some(false, nullptr, 0, code);
            if (code) broken();
            return;
        }
        // A document that is over is followed by white space, or by the next.
        const auto blank = parser_.done() ? std::min(piece.find_first_not_of(" \t\r\n"), piece.size()) : 0;
        if (parser_.done() && blank < piece.size()) parser_.reset();
        const auto taken =
            blank == piece.size() ? 0 : parser_.write_some(true, piece.data() + blank, piece.size() - blank, code);
        bytes_.skip(blank + taken);
        offset_ += blank + taken;
        if (code) broken();
    }

    void broken() {
        over_ = true;
        auto& builder = parser_.handler();
        builder.ready.emplace_back(ManifestProblem{
            builder.files,
            fmt::format("is broken at byte {}: the document is cut off, or not one of weir sum --json", offset_),
            true});
    }

    ByteStream bytes_;
    json::basic_parser<Builder> parser_;
    std::uint64_t offset_ = 0;
    bool over_ = false;
};

}  // namespace

std::unique_ptr<ManifestParser> make_json_parser(ByteStream bytes) {
    return std::make_unique<JsonParser>(std::move(bytes));
}

}  // namespace weir::fixity
