// SPDX-License-Identifier: Apache-2.0
// Any bytes as a manifest: every entry has a name and sums of the right size, and what was read is written and
// read again as it was.
#include <algorithm>
#include <array>

#include "weir/base/assert.hpp"
#include "weir/fixity/attributes.hpp"
#include "weir/fixity/manifest_reader.hpp"
#include "weir/fixity/manifest_writer.hpp"

namespace {

using namespace weir;
using namespace weir::fixity;

ByteSource source_of(std::string_view text, std::size_t piece) {
    return [text, piece](MutableData to) mutable -> Result<std::size_t> {
        const auto size = std::min({to.size(), piece, text.size()});
        std::ranges::copy(as_data(text.substr(0, size)), to.begin());
        text.remove_prefix(size);
        return size;
    };
}

void write_and_read(const ManifestEntry& entry) {
    std::vector<digest::Algorithm> algorithms;
    for (const auto& sum : entry.sums) {
        if (std::ranges::find(algorithms, sum.algorithm()) != algorithms.end())
            return;  // a document may name one twice
        algorithms.push_back(sum.algorithm());
    }
    if (algorithms.empty()) return;
    for (const auto format : {Format::bsd, Format::json, Format::csv}) {
        if (format == Format::csv && !entry.blocks.empty()) continue;  // it holds none
        auto writer = ManifestWriter::make(
            {.format = format, .algorithms = algorithms, .zero = false, .invoked = {}, .directory = {}});
        WEIR_ASSERT(writer.has_value());
        auto text = writer->begin();
        WEIR_ASSERT(writer->add(entry, text).has_value());
        text += writer->end();
        ManifestReader reader(source_of(text, text.size()), {});
        const auto again = reader.next();
        WEIR_ASSERT(again && *again && std::holds_alternative<ManifestEntry>(**again));
        const auto& read = std::get<ManifestEntry>(**again);
        WEIR_ASSERT(read.name == entry.name && read.sums == entry.sums && read.blocks == entry.blocks);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    // The first byte chooses how it is read.
    constexpr std::array names{"x", "x.sfv", "MD5SUMS", "x.adler32"};
    const auto how = data[0];
    const auto text = as_text(std::as_bytes(std::span(data, size))).substr(1);
    ManifestReader reader(source_of(text, 1U + (how >> 4)),
                          {.algorithm = (how & 8) != 0 ? std::optional(digest::Algorithm::adler32) : std::nullopt,
                           .name = names[how & 3],
                           .zero = (how & 4) != 0});
    for (std::size_t items = 0;; ++items) {
        WEIR_ASSERT(items <= 2 * size + 2);
        const auto item = reader.next();
        WEIR_ASSERT(item.has_value());
        if (!*item) break;
        const auto* entry = std::get_if<ManifestEntry>(&**item);
        if (entry == nullptr) continue;
        WEIR_ASSERT(!entry->name.empty() && entry->name.find('\0') == std::string::npos);
        WEIR_ASSERT(entry->sums.empty() || entry->one_of.empty());
        write_and_read(*entry);
    }
    if (const auto sums = decode_weir(text)) WEIR_ASSERT(sums->sums.size() <= text.size());
    static_cast<void>(decode_xrootd(text, digest::Algorithm::adler32));
    return 0;
}
