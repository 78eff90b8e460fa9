// SPDX-License-Identifier: Apache-2.0
#include "files/events/event_lines.hpp"

#include <fmt/format.h>

#include <optional>

#include "cli/output.hpp"
#include "files/objects/object_view.hpp"
#include "weir/base/endian.hpp"

namespace weir::app {

std::string event_words(const EventSummary& summary, ConstData bytes) {
    auto text =
        fmt::format("# event {} at offset {}, {} bytes\n", summary.block.number, summary.block.offset, bytes.size());
    constexpr std::size_t words_per_line = 8;
    for (std::size_t at = 0; at < bytes.size();) {
        auto line = fmt::format("{:06x} ", at);
        for (std::size_t i = 0; i < words_per_line && at < bytes.size(); ++i) {
            if (bytes.size() - at >= sizeof(std::uint32_t)) {
                line += fmt::format(" {:08x}", load_little<std::uint32_t>(bytes, at));
                at += sizeof(std::uint32_t);
            } else {
                for (; at < bytes.size(); ++at) line += fmt::format(" {:02x}", std::to_integer<unsigned>(bytes[at]));
            }
        }
        text += line + "\n";
    }
    return text;
}

std::string event_line(const EventSummary& summary) {
    const auto text = [](const auto& value) { return value ? fmt::to_string(*value) : std::string("-"); };
    std::optional<std::uint64_t> id, lumi_block;
    std::string level1_id = "-";
    if (summary.ids) {
        id = number(summary.ids->global_id);
        lumi_block = number(summary.ids->lumi_block);
        level1_id = fmt::format("{:#010x}", number(summary.ids->level1_id));
    }
    auto tags = printable(fmt::format("{}", fmt::join(summary.tags, ",")));
    if (tags.empty()) tags = "-";
    auto line = fmt::format("{:>6}  {:>12}  {:>10}  {:>5}  {:>10}  {:>5}  {:08x}  {}", summary.block.number, text(id),
                            level1_id, text(lumi_block), summary.block.separator.size, text(summary.robs),
                            summary.adler32, tags);
    line += summary.trouble ? fmt::format("  ! {}\n", printable(summary.trouble->message())) : std::string("\n");
    for (const auto& result : summary.results)
        line += fmt::format("        level-2 result {:#010x}: {}", number(result.source),
                            text_of(view_object(result.bytes), 8).substr(8));
    return line;
}

}  // namespace weir::app
