// SPDX-License-Identifier: Apache-2.0
#include "files/events/show_event.hpp"

#include <fmt/chrono.h>

#include "files/events/event_document.hpp"
#include "files/objects/object_view.hpp"
#include "weir/event/status_names.hpp"

namespace weir::app {
namespace {

std::string hex(std::uint32_t word) { return fmt::format("{:#010x}", word); }

std::string time_text(const event::BunchTime& time) {
    return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:09} UTC", fmt::gmtime(static_cast<std::time_t>(time.seconds)),
                       time.nanoseconds);
}

void print_event_field(std::string_view name, std::string_view text) { print("  {:<16}{}\n", name, printable(text)); }

void print_header(const event::EventView& event, const EventSummary& summary) {
    const auto& ids = event.ids();
    print_event_field("run", fmt::to_string(number(ids.run)));
    print_event_field("global id", fmt::to_string(number(ids.global_id)));
    print_event_field("level-1 id", hex(number(ids.level1_id)));
    print_event_field("lumi block", event.format() == event::Format::event_3_0
                                        ? std::string("not in this format")
                                        : fmt::to_string(number(ids.lumi_block)));
    print_event_field("time", time_text(ids.time));
    print_event_field("source", hex(number(event.source())));
    const auto bits = event::status_names(event::Level::event, event.status());
    print_event_field(
        "status",
        hex(event.status()) + (bits.names.empty() ? std::string() : fmt::format(" ({})", fmt::join(bits.names, ", "))));
    print_event_field("run type", hex(event.run_type()));
    print_event_field("bunch crossing", fmt::to_string(event.bunch_crossing_id()));
    print_event_field("trigger type", hex(event.trigger_type()));
    print_event_field("trigger words",
                      fmt::format("level-1 {}, level-2 {}, event filter {}", words_in(event.level1_words()),
                                  words_in(event.level2_words()), words_in(event.filter_words())));
    if (event.compression() != event::Compression::none)
        print_event_field("compressed", fmt::format("{} from {}", counted(event.payload().size(), "byte"),
                                                    counted(event.uncompressed_payload_size(), "byte")));
    print_event_field("tags",
                      summary.tags.empty() ? std::string("none") : fmt::format("{}", fmt::join(summary.tags, ", ")));
}

void print_robs(const std::vector<RobRow>& robs) {
    using enum Table::Align;
    Table table({{"ROB source"},
                 {"offset", right},
                 {"bytes", right},
                 {"status"},
                 {"ROD level-1 id"},
                 {"run", right},
                 {"crossing", right},
                 {"data words", right},
                 {"status words", right}});
    for (const auto& row : robs) {
        std::vector<std::string> cells{hex(number(row.rob.source())), fmt::to_string(row.rob.offset()),
                                       fmt::to_string(row.rob.bytes().size()), hex(row.rob.status())};
        if (row.rod) {
            cells.insert(cells.end(),
                         {hex(number(row.rod->level1_id())), fmt::to_string(number(row.rod->run())),
                          fmt::to_string(row.rod->bunch_crossing_id()), fmt::to_string(words_in(row.rod->data())),
                          fmt::to_string(words_in(row.rod->status_words()))});
        } else {
            cells.insert(cells.end(), {"! " + row.trouble, "", "", "", ""});
        }
        table.add(std::move(cells));
    }
    print("\n{}", table.text());
}

void print_results(const EventSummary& summary) {
    for (const auto& result : summary.results)
        print("\nlevel-2 result {}: {}", hex(number(result.source)), text_of(view_object(result.bytes), 0));
}

}  // namespace

bool show_event(const FileWalk& walk, const FileWalk::Block& block, ConstData bytes, bool as_json) {
    const auto format = walk.head().format();
    const auto summary = summarize(block, bytes, format);
    auto document = json_of(summary);
    document["path"] = json_text(walk.path().native());
    document["format"] = event::name(format);
    if (!as_json) {
        print("event {} of {}\n", block.number, printable(walk.path().native()));
        print_event_field(
            "place", fmt::format("offset {}, data block {}", with_commas(block.offset), block.separator.block_number));
        print_event_field("size", fmt::format("{} of {}, adler32 {:08x}", counted(bytes.size(), "byte"),
                                              event::name(format), summary.adler32));
    }
    // An opaque event has no header that could be read, a damaged one may have none.
    std::optional<event::EventView> event;
    if (summary.ids) event = event::EventView::parse(bytes, format).value();
    if (event && as_json) document["header"] = json_of(*event);
    if (event && !as_json) print_header(*event, summary);
    bool good = !summary.trouble;
    if (event) {
        if (const auto fragments = Fragments::of(*event)) {
            const auto robs = robs_of(*fragments);
            json::array rows;
            for (const auto& row : robs) {
                good = good && row.trouble.empty();
                rows.push_back(json_of(row));
            }
            document["rob_list"] = std::move(rows);
            if (!as_json && !robs.empty()) print_robs(robs);
            if (!as_json) print_results(summary);
        }
    }
    if (as_json) {
        print_json(document);
    } else if (summary.trouble) {
        print("  ! {}\n", printable(summary.trouble->message()));
    }
    return good;
}

}  // namespace weir::app
