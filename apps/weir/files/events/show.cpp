// SPDX-License-Identifier: Apache-2.0
// weir show: the records of a raw file and how it ends; with --event one event in full.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/output.hpp"
#include "files/commands.hpp"
#include "files/events/file_walk.hpp"
#include "files/events/show_event.hpp"
#include "weir/datafile/stored_index.hpp"

namespace weir::app {
namespace {

constexpr const char* weir_show = "weir show";

struct ShowOptions {
    std::filesystem::path file;
    std::optional<std::uint64_t> event;
    bool json = false;
};

/// Sizes of the events, and what else only shows when all of them were seen.
struct Contents {
    std::uint64_t smallest = 0;
    std::uint64_t largest = 0;
    std::optional<std::uint32_t> first_block, last_block;
};

Result<Contents> walk_to_end(FileWalk& walk) {
    Contents contents;
    while (true) {
        const auto block = WEIR_TRY(walk.next());
        if (!block) return contents;
        const std::uint64_t size = block->separator.size;
        contents.smallest = contents.first_block ? std::min(contents.smallest, size) : size;
        contents.largest = std::max(contents.largest, size);
        if (!contents.first_block) contents.first_block = block->separator.block_number;
        contents.last_block = block->separator.block_number;
    }
}

std::string time_text(const event::CalendarTime& t) {
    return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", t.year, t.month, t.day, t.hour, t.minute, t.second);
}

/// What lies beside the file: "", or the facts of the index.
std::string index_text(const std::filesystem::path& file, bool& good) {
    const auto path = datafile::index_path_of(file);
    std::error_code ignored;
    if (path == file || !std::filesystem::exists(path, ignored)) return "none beside the file";
    const auto index = datafile::StoredIndex::read(path);
    if (!index) return good = false, index.error().message();
    return fmt::format("{} ({})", path.filename().native(), counted(index->closed.events, "event"));
}

void print_file_field(std::string_view name, std::string_view text) { print("  {:<12}{}\n", name, printable(text)); }

std::string mask_text(const event::RunParameters& run) {
    return fmt::format("{:08x}{:08x}{:08x}{:08x}", run.detector_mask[3], run.detector_mask[2], run.detector_mask[1],
                       run.detector_mask[0]);
}

std::string limit_text(std::uint64_t limit, std::string_view unit) {
    return limit == 0 ? fmt::format("no limit of {}", unit) : fmt::format("at most {} {}", with_commas(limit), unit);
}

void print_report(const FileWalk& walk, const Contents& contents, const std::string& index) {
    const auto& head = walk.head();
    print("{}\n", printable(walk.path().native()));
    print_file_field("size", counted(walk.size(), "byte"));
    print_file_field("file start", fmt::format("version {}, file {} of its sequence, opened {}", head.version,
                                               head.file_number, time_text(head.opened)));
    print_file_field("limits",
                     fmt::format("{}, {}", limit_text(head.blocks_max, "events"), limit_text(head.size_max_mb, "MB")));
    print_file_field("application", head.application);
    print_file_field("name", head.name_core);
    for (const auto& line : head.metadata) print_file_field("metadata", line);
    const auto& run = head.run;
    print_file_field("run", fmt::format("{}, {}, recording {}", number(run.run), limit_text(run.events_max, "events"),
                                        run.recording_enabled != 0 ? "enabled" : "disabled"));
    print_file_field("", fmt::format("trigger type {:#x}, beam type {}, beam energy {}", run.trigger_type,
                                     run.beam_type, run.beam_energy));
    print_file_field("", "detector mask " + mask_text(run));
    auto events = fmt::format("{} of {}, {}", counted(walk.events(), "event"), event::name(head.format()),
                              counted(walk.event_bytes(), "byte"));
    if (contents.first_block)
        events += fmt::format("; {} to {} bytes each; data blocks {} to {}", with_commas(contents.smallest),
                              with_commas(contents.largest), *contents.first_block, *contents.last_block);
    print_file_field("events", events);
    if (const auto& end = walk.end()) {
        print_file_field("end", fmt::format("closed {}, {} and {} MiB, {}", time_text(end->closed),
                                            counted(end->events_in_file, "event"), end->mib_in_file,
                                            end->last_of_sequence ? "last of its sequence" : "more files follow"));
        print_file_field("sequence", fmt::format("{} and {} MiB so far", counted(end->events_in_sequence, "event"),
                                                 end->mib_in_sequence));
    }
    if (walk.ending() != FileEnding::complete)
        print_file_field(name(walk.ending()),
                         fmt::format("{}; whole events end at offset {}, {} follow", walk.reason(),
                                     with_commas(walk.position()), counted(walk.size() - walk.position(), "byte")));
    print_file_field("index", index);
}

json::object json_of(const FileWalk& walk, const Contents& contents, const std::string& index) {
    const auto& head = walk.head();
    json::array metadata;
    for (const auto& line : head.metadata) metadata.emplace_back(json_text(line));
    json::object document{{"path", json_text(walk.path().native())},
                          {"bytes", walk.size()},
                          {"version", head.version},
                          {"format", event::name(head.format())},
                          {"file_number", head.file_number},
                          {"opened", time_text(head.opened)},
                          {"events_max", head.blocks_max},
                          {"size_max_mb", head.size_max_mb},
                          {"application", json_text(head.application)},
                          {"name", json_text(head.name_core)},
                          {"metadata", std::move(metadata)},
                          {"run_parameters", json::object{{"run", number(head.run.run)},
                                                          {"events_max", head.run.events_max},
                                                          {"recording_enabled", head.run.recording_enabled},
                                                          {"trigger_type", head.run.trigger_type},
                                                          {"detector_mask", mask_text(head.run)},
                                                          {"beam_type", head.run.beam_type},
                                                          {"beam_energy", head.run.beam_energy}}},
                          {"events", walk.events()},
                          {"event_bytes", walk.event_bytes()},
                          {"event_bytes_min", contents.smallest},
                          {"event_bytes_max", contents.largest},
                          {"state", name(walk.ending())},
                          {"reason", json_text(walk.reason())},
                          {"bytes_behind_events", walk.size() - walk.position()},
                          {"index", json_text(index)},
                          {"end", nullptr}};
    if (const auto& end = walk.end())
        document["end"] =
            json::object{{"closed", time_text(end->closed)},        {"events_in_file", end->events_in_file},
                         {"mib_in_file", end->mib_in_file},         {"events_in_sequence", end->events_in_sequence},
                         {"mib_in_sequence", end->mib_in_sequence}, {"last_of_sequence", end->last_of_sequence}};
    return document;
}

int run_show(const ShowOptions& options) {
    if (options.event && *options.event == 0) return fail_usage(weir_show, "--event: events are counted from 1");
    auto walk = FileWalk::open(options.file);
    if (!walk) return fail_with(weir_show, walk.error());
    if (options.event) {
        const auto block = walk->find(*options.event);
        if (!block && block.error().code == Errc::refused) return fail_missing(weir_show, block.error().context);
        if (!block) return fail_with(weir_show, block.error());
        std::vector<std::byte> bytes;
        if (auto read = walk->read(*block, bytes); !read) return fail_with(weir_show, read.error());
        return show_event(*walk, *block, bytes, options.json) ? exit_good : exit_bad;
    }
    const auto contents = walk_to_end(*walk);
    if (!contents) return fail_with(weir_show, contents.error());
    bool good = walk->ending() != FileEnding::broken;
    const auto index = index_text(options.file, good);
    if (options.json) {
        print_json(json_of(*walk, *contents, index));
    } else {
        print_report(*walk, *contents, index);
    }
    return good ? exit_good : exit_bad;
}

}  // namespace

void add_show(CLI::App& parent, Command& chosen) {
    auto options = std::make_shared<ShowOptions>();  // shared by the parser's callbacks and the command
    auto& command = add_command(parent, group_look, "show", "prints the records of a raw file, or one event in full",
                                "weir show FILE.data --event 3");
    add_value(command, "file", options->file, "FILE", "raw file, open or closed, also of another recorder").required();
    add_value(command, "--event", options->event, "N", "event N of the file, counted from 1: header, tags and ROBs");
    add_json_flag(command, options->json);
    command.callback([options, &chosen] { chosen = [options] { return run_show(*options); }; });
}

}  // namespace weir::app
