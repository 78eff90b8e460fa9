// SPDX-License-Identifier: Apache-2.0
// Any text is either refused, and then changes nothing, or taken; and what is then in effect reads back
// to the same.
#include <cstdint>

#include "weir/base/assert.hpp"
#include "weir/service/configuration.hpp"

namespace {

struct Fields {
    std::string listen = "127.0.0.1:9100";
    std::string mode = "receipt";
    weir::Bytes size{1 << 20};
    std::chrono::milliseconds wait{200};
    std::uint16_t port = 1;
    std::int64_t offset = 0;
    bool direct = true;
    std::vector<std::string> volumes{"/data/1"};
    weir::service::Settings settings;

    Fields() {
        settings.add("record", "listen", listen, "where");
        settings.add("record", "mode", mode, "how").one_of({"receipt", "off"});
        settings.add("record.limits", "size", size, "how much")
            .at_least(weir::Bytes{1})
            .at_most(weir::Bytes{1ULL << 40});
        settings.add("record.limits", "wait", wait, "how long");
        settings.add("record", "port", port, "which");
        settings.add("record", "offset", offset, "from where");
        settings.add("record", "direct", direct, "whether");
        settings.add("", "volumes", volumes, "on what");
        settings.ignore_section("build");
    }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Fields fields;
    const auto before = fields.settings.effective();
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto read = fields.settings.read_text(text, "fuzz.toml");
    const auto after = fields.settings.effective();
    if (!read) {
        WEIR_ASSERT(before == after);
        WEIR_ASSERT(!read.error().context.contains('\n'));
        return 0;
    }
    Fields again;
    const auto read_back = again.settings.read_text(after, "effective");
    WEIR_ASSERT(read_back.has_value());
    WEIR_ASSERT(again.settings.effective() == after);
    return 0;
}
