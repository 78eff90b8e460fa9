// SPDX-License-Identifier: Apache-2.0
// weir scrub: proves a directory over and over, slowly: attributes and manifests against the bytes. It can be
// ended at any time and goes on where it was.
#include <filesystem>
#include <memory>

#include "commands.hpp"
#include "output.hpp"
#include "scrub_cursor.hpp"
#include "scrub_names.hpp"
#include "sum_output.hpp"
#include "sum_progress.hpp"
#include "sum_settings.hpp"
#include "weir/fixity/manifest_writer.hpp"

namespace weir::app {
namespace {

constexpr const char* me = "weir scrub";
constexpr std::chrono::seconds save_interval{10};
constexpr Bytes cursor_size_max = 1_MiB;

struct Options {
    std::filesystem::path directory;
    std::filesystem::path state, metrics;
    bool quiet = false;
    bool json = false;
    ReadSettings reading;
};

/// Keeps cursor and metrics up to date on the disk.
class Saver {
public:
    Saver(const Options& options, const Clock& clock) : options_(options), clock_(clock), saved_at_(clock.now()) {}

    void save_sometimes(const ScrubCursor& cursor) {
        if (clock_.now() - saved_at_ >= save_interval) save(cursor, false);
    }
    void save(const ScrubCursor& cursor, bool complete) {
        saved_at_ = clock_.now();
        if (!options_.metrics.empty()) keep(write_whole(options_.metrics, metrics(cursor, complete, clock_.wall())));
        if (options_.state.empty()) return;
        std::error_code ignored;
        if (complete) std::filesystem::remove(options_.state, ignored);  // the next pass begins at the front
        else keep(write_whole(options_.state, encode(cursor)));
    }
    [[nodiscard]] bool failed() const noexcept { return failed_; }

private:
    void keep(const Result<>& written) {
        if (written || failed_) return;
        failed_ = true;
        complain(me, written.error().message());
    }

    const Options& options_;
    const Clock& clock_;
    SteadyTime saved_at_;
    bool failed_ = false;
};

Result<ScrubCursor> load(const Options& options, const Clock& clock) {
    ScrubCursor fresh;
    fresh.root = options.directory.native();
    fresh.begun_s = std::chrono::duration_cast<std::chrono::seconds>(clock.wall().time_since_epoch()).count();
    std::error_code ignored;
    if (options.state.empty() || !std::filesystem::exists(options.state, ignored)) return fresh;
    const auto text = read_text(options.state, cursor_size_max);
    if (!text) return std::unexpected(text.error());
    auto cursor = decode_cursor(*text);
    if (!cursor) return fail(Errc::usage, fmt::format("{}: {}; remove it to begin at the front", options.state.native(), cursor.error().context));
    if (cursor->root != fresh.root)
        return fail(Errc::usage, fmt::format("{} is the state of a scrub of {}; name another file with --state", options.state.native(), cursor->root));
    return cursor;
}

int run_scrub(const Options& options) {
    if (const auto good = ReadPlan::check(options.reading); !good) return fail_with(me, good.error());
    if (const auto good = sums_are_right(); !good) return fail_work(me, good.error());
    become_idle(me, options.reading);
    std::error_code error;
    if (!std::filesystem::is_directory(options.directory, error))
        return fail_missing(me, fmt::format("{} is not a directory; name one that is there", options.directory.native()));
    const Interruptible interruptible;
    const SystemClock clock;
    auto loaded = load(options, clock);
    if (!loaded) return fail_work(me, loaded.error());
    auto& cursor = *loaded;
    ReadPlan plan(options.reading, clock);
    SumProgress progress(clock, "scrub", [names = std::make_shared<ScrubNames>(cursor.root, cursor.after, nullptr)] { return names->next(); });
    plan.reading().progress = [&progress](std::uint64_t bytes) { progress.add_bytes(bytes); };
    const auto say = [&progress](std::string_view text) {
        progress.clear();
        complain(me, text);
    };
    ScrubNames names(cursor.root, cursor.after, say);
    Saver saver(options, clock);

    auto writer = fixity::ManifestWriter::make({.format = fixity::Format::json, .algorithms = {}, .zero = false, .invoked = {}, .directory = {}});
    if (!writer) return fail_work(me, writer.error());
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
            if (!last_found.empty()) cursor.after = last_found;
            last_found = file.path;
        }
        if (options.json) {
            text.clear();
            const fixity::ManifestEntry entry{.name = file.path, .sums = file.sums, .one_of = {}, .size = file.size, .blocks = {}, .line = 0};
            if (file.status != fixity::Status::skipped && writer->add(entry, text, json_fields(file))) print(text);
        } else if (file.status != fixity::Status::ok && file.status != fixity::Status::skipped && (!options.quiet || file.status != fixity::Status::unverified)) {
            progress.clear();
            print("{}: {}\n", printable(file.path), finding(file));
        }
        if (file.status == fixity::Status::error) say(complaint(file));
        saver.save_sometimes(cursor);
    };
    const auto begin = clock.now();
    fixity::sum_many([&] { return names.next(); }, take, plan.reading(), plan.parallel(), clock, [&progress] { progress.show(); });
    const double seconds = std::chrono::duration<double>(clock.now() - begin).count();
    progress.clear();
    plan.warn_of_threads(me);

    cursor.verdict.malformed += names.malformed();
    cursor.verdict.interrupted = stopped || stop_is_pending();
    saver.save(cursor, !cursor.verdict.interrupted);
    auto shown = cursor.verdict;
    shown.bytes -= before;  // the rate is of this time
    if (options.json) print(writer->end(json_fields(shown, seconds)));
    else say(summary(shown, seconds));
    if (cursor.verdict.interrupted && !options.state.empty()) say(fmt::format("interrupted; the next scrub with --state {} goes on here", options.state.native()));
    if (saver.failed()) ++shown.error;  // of this time only, and no file's
    const int code = shown.exit_code();
    // Files without any sum are the usual thing in a tree; they are counted, and no failure.
    const bool only_unverified = code == exit_missing && cursor.verdict.missing == 0 && cursor.verdict.stale == 0;
    return end_with(me, only_unverified ? exit_good : code);
}

}  // namespace

void add_scrub(CLI::App& parent, Command& chosen) {
    auto options = std::make_shared<Options>();  // shared by the parser's callbacks and the command
    auto& command = add_command(parent, group_look, "scrub", "proves files by attributes and manifests; goes on where it was",
                                "weir scrub /data --bwlimit 100MB --state /var/tmp/data.scrub");
    add_value(command, "dir", options->directory, "DIR", "everything below it").required();
    add_value(command, "--state", options->state, "FILE", "where it keeps how far it has come");
    add_value(command, "--metrics", options->metrics, "FILE", "numbers for Prometheus (node_exporter's textfile collector)");
    add_flag(command, "-q,--quiet", options->quiet, "do not print files that have no sum");
    add_read_options(command, options->reading);
    add_json_flag(command, options->json);
    command.callback([options, &chosen] { chosen = [options] { return run_or_fail(me, [&options] { return run_scrub(*options); }); }; });
}

}  // namespace weir::app
