// SPDX-License-Identifier: Apache-2.0
// weir cat: the events of raw files, a line each, or their bytes. Files are read event by event, so
// that memory holds one event, however large the file is. Files of objects instead are read as a whole.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/output.hpp"
#include "files/commands.hpp"
#include "files/events/bare_events.hpp"
#include "files/events/event_lines.hpp"
#include "files/events/event_summary.hpp"
#include "files/events/file_walk.hpp"
#include "files/objects/object_file.hpp"
#include "files/objects/object_view.hpp"
#include "weir/serial/object_head.hpp"

namespace weir::app {
namespace {

constexpr const char* weir_cat = "weir cat";

struct CatOptions {
    std::vector<std::filesystem::path> files;
    std::optional<std::uint64_t> event;
    std::optional<std::uint64_t> events;
    bool payload = false;
    bool words = false;
    bool results = false;
    bool json = false;

    [[nodiscard]] bool only_bytes() const noexcept { return payload || results; }
};

/// Prints events; knows whether one stands before the next in the document.
class Printer {
public:
    explicit Printer(const CatOptions& options) : options_(options) {
        if (options_.json) print(R"({"events":[)");
    }

    void file(const std::filesystem::path& path) {
        if (options_.json || options_.only_bytes()) return;
        if (options_.files.size() > 1) print("# {}\n", printable(path.native()));
        if (!options_.words) print(event_titles);
    }

    void event(const std::filesystem::path& path, const EventSummary& summary, ConstData bytes) {
        if (options_.payload) return print(as_text(bytes));
        if (options_.results) {
            for (const auto& result : summary.results) print(as_text(result.bytes));
            return;
        }
        if (options_.json) {
            auto object = json_of(summary);
            object["path"] = json_text(path.native());
            return part(object);
        }
        if (options_.words) return print(event_words(summary, bytes));
        print(event_line(summary));
    }

    /// After all events.
    void begin_objects() {
        if (options_.json) print(R"(],"objects":[)");
        first_ = true;
    }

    void object(const std::filesystem::path& path, const ObjectView& view) {
        if (!options_.json) return print(text_of(view, 0));
        auto object = json_of(view);
        object["path"] = json_text(path.native());
        part(object);
    }

    /// Not everything that was asked for could be shown.
    void incomplete() { complete_ = false; }

    /// The document is closed whatever happened, and shows that.
    void end() const {
        if (options_.json) print("],\"complete\":{}}}\n", complete_);
    }

private:
    void part(const json::object& object) {
        print(first_ ? "" : ",");
        first_ = false;
        print_json_part(object);
    }

    const CatOptions& options_;
    bool complete_ = true;
    bool first_ = true;
};

/// The exit code for one file.
int cat_file(const std::filesystem::path& path, const CatOptions& options, Printer& printer) {
    auto walk = FileWalk::open(path);
    if (!walk) return fail_with(weir_cat, walk.error());
    printer.file(path);
    std::vector<std::byte> bytes;
    int code = exit_good;
    const auto show = [&](const FileWalk::Block& block) -> Result<> {
        WEIR_TRY(walk->read(block, bytes));
        const auto summary = summarize(block, bytes, walk->head().format());
        printer.event(path, summary, bytes);
        if (summary.trouble && summary.trouble->code != Errc::unsupported) {
            code = exit_bad;
            if (options.only_bytes() || options.words)
                complain(weir_cat,
                         fmt::format("{}, event {}: {}", path.native(), block.number, summary.trouble->message()));
        }
        return {};
    };
    if (options.event) {
        const auto block = walk->find(*options.event);
        if (!block && block.error().code == Errc::refused) return fail_missing(weir_cat, block.error().context);
        if (!block) return fail_with(weir_cat, block.error());
        const auto shown = show(*block);
        return shown ? code : fail_with(weir_cat, shown.error());
    }
    while (std::ferror(stdout) == 0 && (!options.events || walk->events() < *options.events)) {
        const auto block = walk->next();
        if (!block) return fail_with(weir_cat, block.error());
        if (!*block) {
            if (walk->ending() == FileEnding::complete) return code;
            complain(weir_cat, fmt::format("{} is {} after {}: {}", path.native(), name(walk->ending()),
                                           counted(walk->events(), "event"), walk->reason()));
            printer.incomplete();
            return walk->ending() == FileEnding::broken ? exit_bad : code;
        }
        if (auto shown = show(**block); !shown) return fail_with(weir_cat, shown.error());
    }
    return code;
}

/// The exit code for one file of events without a raw file around them.
int cat_bare_events(const std::filesystem::path& path, const CatOptions& options, Printer& printer) {
    auto events = BareEvents::open(path);
    if (!events) return fail_with(weir_cat, events.error());
    if (!options.event) printer.file(path);
    std::vector<std::byte> bytes;
    int code = exit_good;
    std::uint64_t seen = 0;
    while (std::ferror(stdout) == 0 && (!options.events || seen < *options.events)) {
        const auto block = events->next(bytes);
        if (!block) return fail_with(weir_cat, block.error());
        if (!*block) break;
        ++seen;
        if (options.event && seen < *options.event) continue;
        if (options.event) printer.file(path);
        const auto summary = summarize(**block, bytes, BareEvents::format_of(bytes));
        printer.event(path, summary, bytes);
        if (summary.trouble) {
            code = exit_bad;
            if (options.only_bytes() || options.words)
                complain(weir_cat, fmt::format("{}, event {}: {}", path.native(), seen, summary.trouble->message()));
        }
        if (options.event) return code;
    }
    if (options.event)
        return fail_missing(
            weir_cat, fmt::format("{} has {}, no event {}", path.native(), counted(seen, "event"), *options.event));
    return code;
}

/// The exit code for one file of objects. Each stands for itself: several may have been appended one to the other.
int cat_objects(const std::filesystem::path& path, Printer& printer) {
    const auto objects = ObjectFile::read(path);
    if (!objects) return fail_with(weir_cat, objects.error());
    int code = exit_good;
    for (std::size_t at = 0; at < objects->bytes.size();) {
        const auto head = serial::object_head(ConstData(objects->bytes).subspan(at));
        if (!head) {
            complain(weir_cat, fmt::format("{}, offset {}: {}", path.native(), at, head.error().message()));
            return exit_bad;
        }
        const auto view = view_object(ConstData(objects->bytes).subspan(at, head->size));
        if (!view.trouble.empty()) code = exit_bad;
        printer.object(path, view);
        at += head->size;
    }
    return code;
}

int run_cat(const CatOptions& options) {
    if (options.payload + options.words + options.results + options.json > 1)
        return fail_usage(weir_cat, "--payload, --words, --results and --json are four forms of output; choose one");
    if (options.event && options.events)
        return fail_usage(weir_cat, "--event names one event, --events the first few; choose one");
    if (options.event && *options.event == 0) return fail_usage(weir_cat, "--event: events are counted from 1");
    if (options.only_bytes() && ::isatty(STDOUT_FILENO) == 1)
        return fail_usage(weir_cat,
                          "--payload and --results write bytes, stdout is a terminal; send them to a file or a "
                          "program, or see --words");
    std::vector<std::filesystem::path> of_events, of_objects;
    for (const auto& path : options.files) (holds_objects(path) ? of_objects : of_events).push_back(path);
    if (!of_objects.empty() && (options.only_bytes() || options.words || options.event || options.events))
        return fail_usage(weir_cat, fmt::format("{} holds objects, and no events: only --json goes with it",
                                                of_objects.front().native()));
    Printer printer(options);
    int worst = exit_good;
    const auto note = [&](int code) {
        if (code != exit_good) printer.incomplete();
        worst = std::max(worst, code);
    };
    for (const auto& path : of_events)
        note(holds_bare_events(path) ? cat_bare_events(path, options, printer) : cat_file(path, options, printer));
    if (!of_objects.empty()) printer.begin_objects();
    for (const auto& path : of_objects) note(cat_objects(path, printer));
    printer.end();
    return worst;
}

}  // namespace

void add_cat(CLI::App& parent, Command& chosen) {
    auto options = std::make_shared<CatOptions>();  // shared by the parser's callbacks and the command
    auto& command = add_command(parent, group_look, "cat",
                                "prints the events of raw files, a line each, words or bytes; sampled events; objects",
                                "weir cat FILE.data --event 3 --words | less");
    add_value(command, "file", options->files, "FILE",
              "raw file, open or closed; or a file of bare events or of objects")
        .required();
    add_value(command, "--event", options->event, "N", "only event N of each file, counted from 1");
    add_value(command, "--events", options->events, "N", "only the first N events of each file");
    add_flag(command, "--words", options->words, "the words of the events in hex, 8 a line, after their byte offset");
    add_flag(command, "--payload", options->payload, "the bytes of the events, one after the other");
    add_flag(command, "--results", options->results, "the bytes of the level-2 results in the events");
    add_json_flag(command, options->json);
    command.callback([options, &chosen] { chosen = [options] { return run_cat(*options); }; });
}

}  // namespace weir::app
