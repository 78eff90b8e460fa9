// SPDX-License-Identifier: Apache-2.0
#include "weir/fixity/manifest_reader.hpp"

#include "manifest/manifest_marks.hpp"
#include "manifest/manifest_parser.hpp"

namespace weir::fixity {
namespace {

constexpr std::string_view utf8_mark = "\xef\xbb\xbf";

std::unique_ptr<ManifestParser> parser_for(ByteSource source, ManifestReader::Options options) {
    ByteStream bytes(std::move(source));
    if (bytes.front(utf8_mark.size()) == utf8_mark) {  // Windows programs put it before the text
        for (std::size_t i = 0; i < utf8_mark.size(); ++i) bytes.get();
    }
    // No name of a sum begins with a brace, so a document is known by it.
    if (!options.zero && bytes.peek() == '{') return make_json_parser(std::move(bytes));
    if (!options.zero && bytes.front(csv_mark.size()) == csv_mark) return make_csv_parser(std::move(bytes));
    return make_line_parser(std::move(bytes), std::move(options));
}

}  // namespace

ManifestReader::ManifestReader(ByteSource source, Options options)
    : parser_(parser_for(std::move(source), std::move(options))) {}
ManifestReader::ManifestReader(ManifestReader&&) noexcept = default;
ManifestReader::~ManifestReader() = default;

Result<std::optional<ManifestReader::Item>> ManifestReader::next() { return parser_->next(); }
std::optional<Format> ManifestReader::format() const noexcept { return parser_->format(); }

}  // namespace weir::fixity
