// SPDX-License-Identifier: Apache-2.0
// Whatever a recorder answers of its files, the document made of it and of a good answer is bounded, is JSON, and still
// has what the good one says of its disk.
#include <boost/json/serialize.hpp>
#include <cstdint>
#include <string_view>

#include "page/files_of_recorders.hpp"
#include "weir/base/assert.hpp"
#include "weir/json/parse.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace weir;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    control::FilesOfRecorders files(std::nullopt);
    files.add("rec-1", "h1", text);
    files.add("rec-2", "h2",
              R"({"run":7,"streams":[],"files":[],"left_out":0,"troubles":[],)"
              R"("volumes":[{"volume":"/data","device":1,"bytes":2,"free":1}]})");
    const auto document = files.document();
    WEIR_ASSERT(document.at("files").as_array().size() <= control::files_shown_max);
    WEIR_ASSERT(document.at("silent").as_array().size() <= 1);
    WEIR_ASSERT(document.at("silent").as_array().empty() || !document.at("troubles").as_array().empty());
    WEIR_ASSERT(document.at("volumes").as_array().back().at("host").as_string() == "h2");
    const auto whole = json::serialize(document);
    WEIR_ASSERT(whole.size() <= 12 * size + 4096);
    WEIR_ASSERT(json::parse(whole, {.size = Bytes{1U << 30}}).has_value());
    return 0;
}
