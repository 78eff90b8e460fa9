// SPDX-License-Identifier: Apache-2.0
// weir scrub: proves a directory over and over, slowly: attributes and manifests against the bytes. It can be
// ended at any time and goes on where it was.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/output.hpp"
#include "sums/commands.hpp"
#include "sums/scrub/scrub_cursor.hpp"
#include "sums/scrub/scrub_names.hpp"
#include "sums/scrub/scrub_state.hpp"
#include "sums/sum_output.hpp"
#include "sums/sum_progress.hpp"
#include "sums/sum_settings.hpp"
#include "weir/fixity/manifest_writer.hpp"

namespace weir::app {
namespace {

constexpr const char* weir_scrub = "weir scrub";
constexpr std::chrono::seconds save_interval{10};

struct ScrubOptions {
    std::filesystem::path directory;
    std::filesystem::path state, metrics;
    bool quiet = false;
    bool json = false;
    ReadSettings reading;
};

/// Keeps cursor and metrics up to date on the disk.
class Saver {
public:
    Saver(const ScrubOptions& options, std::optional<ScrubState> state, const Clock& clock)
        : options_(options), state_(std::move(state)), clock_(clock), saved_at_(clock.now()) {}

    void save_sometimes(const ScrubCursor& cursor) {
        if (clock_.now() - saved_at_ >= save_interval) save(cursor, false);
    }
    void save(const ScrubCursor& cursor, bool complete) {
        saved_at_ = clock_.now();
        if (!options_.metrics.empty()) keep(write_whole(options_.metrics, metrics(cursor, complete, clock_.wall())));
        if (state_)
            keep(complete ? state_->remove()
                          : state_->write(encode(cursor)));  // removed: the next pass begins at the front
    }
    [[nodiscard]] bool failed() const noexcept { return failed_; }

private:
    void keep(const Result<>& written) {
        if (written || failed_) return;
        failed_ = true;
        complain(weir_scrub, written.error().message());
    }

    const ScrubOptions& options_;
    std::optional<ScrubState> state_;
    const Clock& clock_;
    SteadyTime saved_at_;
    bool failed_ = false;
};

/// A pass that begins at the front of the directory. Nothing: it is none.
std::optional<ScrubCursor> front_of(const std::filesystem::path& directory, const Clock& clock) {
    ScrubCursor front;
    std::error_code error;
    front.root = std::filesystem::canonical(directory, error).native();
    struct stat status{};
    if (error || ::stat(front.root.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return std::nullopt;
    front.device = status.st_dev;
    front.inode = status.st_ino;
    front.begun_s = std::chrono::duration_cast<std::chrono::seconds>(clock.wall().time_since_epoch()).count();
    return front;
}

/// Where the pass goes on that `state` is of; `front` when there is none.
Result<ScrubCursor> load(const ScrubState& state, ScrubCursor front, const ScrubOptions& options) {
    const auto text = WEIR_TRY(state.read());
    if (text.empty()) return front;
    auto cursor = decode_cursor(text);
    const auto& name = options.state.native();
    if (!cursor)
        return fail(Errc::usage, fmt::format("{}: {}; remove it to begin at the front", name, cursor.error().context));
    if (cursor->device == front.device && cursor->inode == front.inode) {
        cursor->root = std::move(front.root);  // the same directory under whatever name
        return cursor;
    }
    if (cursor->root != front.root)
        return fail(Errc::usage, fmt::format("{} is the state of a scrub of {}; name another file with --state", name,
                                             cursor->root));
    complain(weir_scrub,
             fmt::format("warning: {} is another directory (or file system) than the one that {} is of; this pass "
                         "begins at the front",
                         front.root, name));
    return front;
}

/// The name of a file below the directory, and back.
std::string below(const std::string& root, std::string_view path) {
    path.remove_prefix(std::min(path.size(), root.size()));
    while (path.starts_with('/')) path.remove_prefix(1);
    return std::string(path);
}
std::string whole(const ScrubCursor& cursor) {
    return cursor.after.empty() ? std::string() : (std::filesystem::path(cursor.root) / cursor.after).native();
}

int run_scrub(const ScrubOptions& options) {
    if (const auto good = ReadPlan::check(options.reading); !good) return fail_with(weir_scrub, good.error());
    if (const auto good = sums_are_right(); !good) return fail_work(weir_scrub, good.error());
    become_idle(weir_scrub, options.reading);
    const Interruptible interruptible;
    const SystemClock clock;
    const auto front = front_of(options.directory, clock);
    if (!front)
        return fail_missing(weir_scrub,
                            fmt::format("{} is not a directory; name one that is there", options.directory.native()));
    auto cursor = *front;
    std::optional<ScrubState> state;
    if (!options.state.empty()) {
        auto opened = ScrubState::open(options.state);
        if (!opened) return fail_work(weir_scrub, opened.error());
        state.emplace(std::move(*opened));
        auto loaded = load(*state, *front, options);
        if (!loaded) return fail_work(weir_scrub, loaded.error());
        cursor = std::move(*loaded);
    }
    ReadPlan plan(options.reading, clock);
    SumProgress progress(clock, "scrub", [names = std::make_shared<ScrubNames>(cursor.root, whole(cursor), nullptr)] {
        return names->next();
    });
    plan.reading().progress = [&progress](std::uint64_t bytes) { progress.add_bytes(bytes); };
    const auto report = [&progress](std::string_view text) {
        progress.clear();
        complain(weir_scrub, text);
    };
    ScrubNames names(cursor.root, whole(cursor), report);
    Saver saver(options, std::move(state), clock);

    auto writer = fixity::ManifestWriter::make(
        {.format = fixity::Format::json, .algorithms = {}, .zero = false, .invoked = {}, .directory = {}});
    if (!writer) return fail_work(weir_scrub, writer.error());
    if (options.json) print(writer->begin());
    const auto before = cursor.verdict.bytes;
    std::string text, last_found;
    bool stopped = false;
    const auto take = [&](fixity::FileSum file) {
        progress.add_file();
        stopped = stopped || file.status == fixity::Status::stopped;
        if (stopped) return;  // what comes behind it is done again
        cursor.verdict.count(file);
        // A file is behind us when the next one of the walk is done: a manifest's files come after itself.
        if (file.origin == fixity::Origin::found) {
            if (!last_found.empty()) cursor.after = below(cursor.root, last_found);
            last_found = file.path;
        }
        if (options.json) {
            text.clear();
            const bool was_read = !file.failure;
            const fixity::ManifestEntry entry{.name = file.path,
                                              .sums = file.sums,
                                              .one_of = {},
                                              .size = was_read ? std::optional(file.size) : std::nullopt,
                                              .blocks = {},
                                              .line = 0};
            if (file.status != fixity::Status::skipped && writer->add(entry, text, json_fields(file))) print(text);
        } else if (file.status != fixity::Status::ok && file.status != fixity::Status::skipped &&
                   (!options.quiet || file.status != fixity::Status::unverified)) {
            progress.clear();
            print("{}: {}\n", printable(file.path), finding(file));
        }
        if (file.status == fixity::Status::error) report(complaint(file));
        saver.save_sometimes(cursor);
    };
    const auto begin = clock.now();
    fixity::sum_many([&] { return names.next(); }, take, plan.reading(), plan.parallel(), clock,
                     [&progress] { progress.show(); });
    const double seconds = std::chrono::duration<double>(clock.now() - begin).count();
    progress.clear();
    plan.warn_of_threads(weir_scrub);

    cursor.verdict.malformed += names.malformed();
    cursor.verdict.interrupted = stopped || stop_is_pending();
    saver.save(cursor, !cursor.verdict.interrupted);
    auto shown = cursor.verdict;
    shown.bytes -= before;  // the rate is of this time
    if (options.json) print(writer->end(json_fields(shown, seconds)));
    else report(summary(shown, seconds));
    if (cursor.verdict.interrupted && !options.state.empty())
        report(fmt::format("interrupted; the next scrub with --state {} goes on here", options.state.native()));
    if (saver.failed()) ++shown.error;  // of this time only, and no file's
    const int code = shown.exit_code();
    // Files without any sum are the usual thing in a tree; they are counted, and no failure.
    const bool only_unverified = code == exit_missing && cursor.verdict.missing == 0 && cursor.verdict.stale == 0;
    return end_with(weir_scrub, only_unverified ? exit_good : code);
}

}  // namespace

void add_scrub(CLI::App& parent, Command& chosen) {
    auto options = std::make_shared<ScrubOptions>();  // shared by the parser's callbacks and the command
    auto& command =
        add_command(parent, group_look, "scrub", "proves files by attributes and manifests; goes on where it was",
                    "weir scrub /data --bwlimit 100MB --state /var/tmp/data.scrub");
    add_value(command, "dir", options->directory, "DIR", "everything below it").required();
    add_value(command, "--state", options->state, "FILE", "where it keeps how far it has come");
    add_value(command, "--metrics", options->metrics, "FILE",
              "numbers for Prometheus (node_exporter's textfile collector)");
    add_flag(command, "-q,--quiet", options->quiet, "do not print files that have no sum");
    add_read_options(command, options->reading);
    add_json_flag(command, options->json);
    command.callback([options, &chosen] {
        chosen = [options] { return run_or_fail(weir_scrub, [&options] { return run_scrub(*options); }); };
    });
}

}  // namespace weir::app
