// SPDX-License-Identifier: Apache-2.0
// The kinds of manifest: lines, CSV (whose records may have several lines), and a JSON document.
#pragma once

#include <deque>

#include "reading/byte_stream.hpp"
#include "weir/fixity/manifest_reader.hpp"

namespace weir::fixity {

class ManifestParser {
public:
    virtual ~ManifestParser() = default;
    [[nodiscard]] virtual Result<std::optional<ManifestReader::Item>> next() = 0;
    [[nodiscard]] virtual std::optional<Format> format() const noexcept = 0;
};

[[nodiscard]] std::unique_ptr<ManifestParser> make_line_parser(ByteStream bytes, ManifestReader::Options options);
[[nodiscard]] std::unique_ptr<ManifestParser> make_csv_parser(ByteStream bytes);
[[nodiscard]] std::unique_ptr<ManifestParser> make_json_parser(ByteStream bytes);

}  // namespace weir::fixity
