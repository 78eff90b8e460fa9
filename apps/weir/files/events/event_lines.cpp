// SPDX-License-Identifier: Apache-2.0
#include "files/events/event_lines.hpp"

#include <fmt/format.h>

#include "cli/output.hpp"
#include "cli/terminal/screen_text.hpp"
#include "files/objects/object_view.hpp"
#include "weir/base/endian.hpp"

namespace weir::app {
namespace {

struct EventWords {
    std::string global_id = "-", level1_id = "-", lumi_block = "-", robs = "-", tags = "-";
};

EventWords words_of(const EventSummary& summary) {
    EventWords words;
    if (summary.ids) {
        words.global_id = fmt::to_string(number(summary.ids->global_id));
        words.level1_id = fmt::format("{:#010x}", number(summary.ids->level1_id));
        words.lumi_block = fmt::to_string(number(summary.ids->lumi_block));
    }
    if (summary.robs) words.robs = fmt::to_string(*summary.robs);
    if (!summary.tags.empty()) words.tags = printable(fmt::format("{}", fmt::join(summary.tags, ",")));
    return words;
}

/// Behind a line, and below it.
std::string trouble_and_results(const EventSummary& summary) {
    auto text = summary.trouble ? fmt::format("  ! {}\n", printable(summary.trouble->message())) : std::string("\n");
    for (const auto& result : summary.results)
        text += fmt::format("        level-2 result {:#010x}: {}", number(result.source),
                            text_of(view_object(result.bytes), 8).substr(8));
    return text;
}

}  // namespace

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
    const auto words = words_of(summary);
    return fmt::format("{:>6}  {:>12}  {:>10}  {:>5}  {:>10}  {:>5}  {:08x}  {}", summary.block.number, words.global_id,
                       words.level1_id, words.lumi_block, summary.block.separator.size, words.robs, summary.adler32,
                       words.tags) +
           trouble_and_results(summary);
}

std::string tapped_event_line(std::string_view station, const EventSummary& summary) {
    const auto words = words_of(summary);
    return fmt::format("{}  {:>11}  {:>10}  {:>5}  {:>9}  {:>4}  {}", screen_cell(station, 12), words.global_id,
                       words.level1_id, words.lumi_block, summary.block.separator.size, words.robs, words.tags) +
           trouble_and_results(summary);
}

}  // namespace weir::app
