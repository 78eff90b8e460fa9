// SPDX-License-Identifier: Apache-2.0
#include "files/events/event_document.hpp"

#include <algorithm>
#include <utility>

#include "files/events/bare_events.hpp"
#include "files/objects/object_view.hpp"
#include "weir/event/status_names.hpp"

namespace weir::app {
namespace {

constexpr Bytes unpacked_shown = 64_MiB;
constexpr std::size_t robs_shown = 2000;
constexpr std::size_t tags_shown = 100;
constexpr std::size_t tag_shown = 200;  // bytes
constexpr std::size_t results_shown = 16;
constexpr Bytes result_shown = 16_KiB;

json::array status_json(event::Level level, std::uint32_t status) {
    const auto found = event::status_names(level, status);
    json::array names;
    for (const auto name : found.names) names.emplace_back(name);
    if (found.unnamed != 0) names.emplace_back(fmt::format("{:#010x}", found.unnamed));
    return names;
}

/// A summary of any event with texts and lists of bounded length.
json::object short_document(EventSummary summary) {
    summary.tags.resize(std::min(summary.tags.size(), tags_shown));
    for (auto& tag : summary.tags) tag.resize(std::min(tag.size(), tag_shown));
    summary.results.resize(std::min(summary.results.size(), results_shown));
    auto results = std::exchange(summary.results, {});
    auto document = json_of(summary);
    json::array shown;
    for (const auto& result : results) {
        auto object = result.bytes.size() > result_shown.count()
                          ? json::object{{"bytes", result.bytes.size()}, {"error", "too large to be shown here"}}
                          : json_of(view_object(result.bytes));
        object["source"] = number(result.source);
        shown.push_back(std::move(object));
    }
    document["results"] = std::move(shown);
    return document;
}

}  // namespace

std::size_t words_in(ConstData data) noexcept { return data.size() / event::word_bytes; }

std::vector<RobRow> robs_of(const Fragments& fragments, std::size_t most) {
    std::vector<RobRow> robs;
    auto cursor = fragments.cursor();
    for (auto rob = cursor.next(); rob && *rob && robs.size() < most; rob = cursor.next()) {
        RobRow row{**rob, std::nullopt, {}};
        if (auto rod = event::RodView::parse((*rob)->payload(), (*rob)->payload_offset())) {
            row.rod = *rod;
        } else {
            row.trouble = rod.error().message();
        }
        robs.push_back(std::move(row));
    }
    return robs;
}

json::object json_of(const event::EventView& event) {
    return {{"source", number(event.source())},
            {"status", event.status()},
            {"status_names", status_json(event::Level::event, event.status())},
            {"partial", event.partial()},
            {"time", static_cast<double>(event.ids().time.seconds) + 1e-9 * event.ids().time.nanoseconds},
            {"run_type", event.run_type()},
            {"bunch_crossing_id", event.bunch_crossing_id()},
            {"trigger_type", event.trigger_type()},
            {"checksum_type", static_cast<std::uint32_t>(event.checksum_type())},
            {"compressed", event.compression() != event::Compression::none},
            {"uncompressed_bytes", event.uncompressed_payload_size()},
            {"level1_words", words_in(event.level1_words())},
            {"level2_words", words_in(event.level2_words())},
            {"filter_words", words_in(event.filter_words())}};
}

json::object json_of(const RobRow& row) {
    json::object object{{"source", number(row.rob.source())},
                        {"offset", row.rob.offset()},
                        {"bytes", row.rob.bytes().size()},
                        {"status", row.rob.status()},
                        {"status_names", status_json(event::Level::rob, row.rob.status())}};
    if (row.rod) {
        object["rod"] = json::object{{"source", number(row.rod->source())},
                                     {"version", row.rod->version()},
                                     {"run", number(row.rod->run())},
                                     {"level1_id", number(row.rod->level1_id())},
                                     {"bunch_crossing_id", row.rod->bunch_crossing_id()},
                                     {"trigger_type", row.rod->trigger_type()},
                                     {"data_words", words_in(row.rod->data())},
                                     {"status_words", words_in(row.rod->status_words())}};
    }
    if (!row.trouble.empty()) object["error"] = json_text(row.trouble);
    return object;
}

json::object event_document(ConstData bytes) {
    const auto format = BareEvents::format_of(bytes);
    FileWalk::Block block;
    block.separator.size = static_cast<std::uint32_t>(bytes.size());
    const auto summary = summarize(block, bytes, format, unpacked_shown, results_shown);
    auto document = short_document(summary);
    for (const auto* key : {"number", "offset", "block"}) document.erase(key);  // of a file
    document["format"] = event::name(format);
    if (!summary.ids) return document;
    const auto event = event::EventView::parse(bytes, format);
    if (!event) return document;
    document["header"] = json_of(*event);
    const auto fragments = Fragments::of(*event, unpacked_shown);
    if (!fragments) return document;
    json::array rows;
    for (const auto& row : robs_of(*fragments, robs_shown)) rows.push_back(json_of(row));
    document["left_out"] = summary.robs.value_or(rows.size()) - rows.size();
    document["rob_list"] = std::move(rows);
    return document;
}

}  // namespace weir::app
