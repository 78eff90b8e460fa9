// SPDX-License-Identifier: Apache-2.0
// weir check: are the files as in a manifest? Any form of manifest, recognised from its content.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <memory>
#include <random>

#include "cli/output.hpp"
#include "sums/check/check_contents.hpp"
#include "sums/check/check_files.hpp"
#include "sums/commands.hpp"
#include "sums/sum_names.hpp"
#include "sums/sum_progress.hpp"
#include "sums/sum_settings.hpp"
#include "sums/sum_verdict.hpp"
#include "weir/fixity/manifest_writer.hpp"

namespace weir::app {
namespace {

constexpr const char* weir_check = "weir check";

struct CheckOptions {
    CheckSettings manifests;
    CheckChoice choice;
    AlgorithmList algorithm;
    bool ignore_missing = false;
    bool quiet = false;
    bool json = false;
    ReadSettings reading;
};

/// Prints what came of each file, and counts it.
class CheckReporter {
public:
    CheckReporter(const CheckOptions& options, fixity::ManifestWriter& writer, SumProgress& progress)
        : options_(options), writer_(writer), progress_(progress) {}

    void take(const fixity::FileSum& file) {
        using fixity::Status;
        progress_.add_file();
        if (file.status == Status::unchanged) progress_.add_bytes(file.size);  // not read, but done
        if (file.status == Status::stopped || (file.status == Status::missing && options_.ignore_missing)) return;
        verdict.count(file);
        const auto& name = file.expected ? file.expected->name : file.path;
        if (options_.json) {
            text_.clear();
            const bool has_size =
                !file.sums.empty() || file.status == Status::unchanged || file.status == Status::extra;
            const auto size = file.status == Status::extra && file.sums.empty() ? file.stamp.size : file.size;
            const fixity::ManifestEntry entry{.name = name,
                                              .sums = file.sums,
                                              .one_of = {},
                                              .size = has_size ? std::optional(size) : std::nullopt,
                                              .blocks = {},
                                              .line = 0};
            if (file.status != Status::skipped && writer_.add(entry, text_, json_fields(file))) print(text_);
        } else if (file.status != Status::skipped &&
                   !(options_.quiet && (file.status == Status::ok || file.status == Status::unchanged))) {
            progress_.clear();
            print("{}: {}\n", printable(name), finding(file));
        }
        if (file.status == Status::error || file.status == Status::skipped) report(complaint(file));
    }

    void report(std::string_view text) {
        progress_.clear();
        complain(weir_check, text);
    }

    SumVerdict verdict;

private:
    const CheckOptions& options_;
    fixity::ManifestWriter& writer_;
    SumProgress& progress_;
    std::string text_;
};

Result<> check(const CheckOptions& options) {
    const auto& choice = options.choice;
    if (options.algorithm.values.size() > 1)
        return fail(Errc::usage, "-a: lines without an algorithm have one; name one");
    if (std::ranges::count_if(options.manifests.paths, is_stdin) > 1)
        return fail(Errc::usage, "stdin (-) can be read only once; name it once");
    if (choice.seed && !choice.sample) return fail(Errc::usage, "--seed: only a --sample is chosen at random");
    if (choice.audit && choice.sample)
        return fail(Errc::usage, "--audit holds files against all of the manifests; omit --sample");
    if (options.reading.paranoid && (choice.only_changed || choice.age_max))
        return fail(Errc::usage, "--paranoid reads every file; omit --only-changed and --max-age");
    return ReadPlan::check(options.reading);
}

/// Reports what lies beside the files of the manifests, to `sink`.
void look_for_extra(ExtraFiles& extra, const CheckManifests& manifests, CheckReporter& reporter,
                    const std::function<void(fixity::FileSum)>& sink) {
    if (!manifests.names_are_known())
        return reporter.report(
            "--extra: the manifests were not read as a whole, so it is not known which files they do not name; none "
            "was looked for");
    for (const auto& stamp : manifests.stamps()) extra.exclude(stamp);
    struct stat status{};
    if (::fstat(STDOUT_FILENO, &status) == 0) extra.exclude(fixity::stamp_of(status));
    auto& verdict = reporter.verdict;
    std::uint64_t found = 0;
    verdict.links = extra.find(
        [&](fixity::FileSum file) {
            if (file.status == fixity::Status::extra) ++found;
            sink(std::move(file));
        },
        [] { return stop_is_pending(); });
    reporter.report(fmt::format("{} below {}",
                                counted(found, "file that no manifest names", "files that no manifest names"),
                                fmt::join(extra.directories(), ", ")));
}

int run_check(CheckOptions options) {
    if (options.choice.audit) options.choice.extra = true;
    if (const auto good = check(options); !good) return fail_with(weir_check, good.error());
    if (!options.algorithm.values.empty()) options.manifests.algorithm = options.algorithm.values.front();
    if (const auto good = sums_are_right(); !good) return fail_work(weir_check, good.error());
    become_idle(weir_check, options.reading);
    const Interruptible interruptible;
    const SystemClock clock;
    ReadPlan plan(options.reading, clock);
    const auto seed = options.choice.seed.value_or(options.choice.sample ? std::random_device{}() : 0);

    fixity::JobSource ahead;
    if (std::ranges::all_of(options.manifests.paths, can_be_read_twice)) {
        auto choice = options.choice;
        choice.extra = false;
        ahead = [files = std::make_shared<CheckFiles>(options.manifests, choice, seed, clock.wall(), nullptr)] {
            return files->next();
        };
    }
    SumProgress progress(clock, "check", std::move(ahead));
    plan.reading().progress = [&progress](std::uint64_t bytes) { progress.add_bytes(bytes); };
    auto writer = fixity::ManifestWriter::make(
        {.format = fixity::Format::json, .algorithms = {}, .zero = false, .invoked = {}, .directory = {}});
    if (!writer) return fail_work(weir_check, writer.error());
    CheckReporter reporter(options, *writer, progress);
    CheckFiles files(options.manifests, options.choice, seed, clock.wall(),
                     [&reporter](std::string_view text) { reporter.report(text); });

    if (options.json) print(writer->begin());
    const auto begin = clock.now();
    KnownContents contents;
    const auto sum_all = [&](const fixity::JobSource& source, const fixity::FileSink& sink) {
        fixity::sum_many(source, sink, plan.reading(), plan.parallel(), clock, [&progress] { progress.show(); });
    };
    sum_all([&] { return files.next(); },
            [&](const fixity::FileSum& file) {
                if (options.choice.audit) contents.add(file);
                reporter.take(file);
            });
    std::vector<std::string> unknown;  // names of files to be read and held against the contents
    if (auto* extra = files.extra(); extra != nullptr && !stop_is_pending()) {
        look_for_extra(*extra, files.manifests(), reporter, [&](fixity::FileSum file) {
            if (options.choice.audit && file.status == fixity::Status::extra && !contents.algorithms().empty())
                unknown.push_back(std::move(file.path));
            else reporter.take(file);
        });
        std::size_t begun = 0, done = 0;
        const auto source = [&]() -> std::optional<fixity::Job> {
            if (begun == unknown.size()) return std::nullopt;
            fixity::Job job;
            job.path = extra->path_of(unknown[begun++]);
            job.origin = fixity::Origin::found;
            job.algorithms = contents.algorithms();
            return job;
        };
        sum_all(source, [&](fixity::FileSum file) {
            file.path = std::move(unknown[done++]);
            if (file.status == fixity::Status::ok) contents.judge(file);
            reporter.take(file);
        });
    }
    const double seconds = std::chrono::duration<double>(clock.now() - begin).count();
    progress.clear();
    plan.warn_of_threads(weir_check);

    auto& verdict = reporter.verdict;
    verdict.interrupted = stop_is_pending();
    verdict.malformed += files.manifests().malformed();
    verdict.missing += files.manifests().missing();
    verdict.error += files.manifests().unreadable();
    std::string sample_fields;
    if (const auto* sample = files.sample()) {
        const json::object fields{{"sample", json::object{{"percent", options.choice.sample->value},
                                                          {"seed", seed},
                                                          {"files", sample->chosen()},
                                                          {"of", sample->of()}}}};
        const auto text = json::serialize(fields);
        sample_fields = "," + text.substr(1, text.size() - 2);
        complain(weir_check, fmt::format("a sample of {}: {} of {}; --seed {} chooses the same again",
                                         shown_value(*options.choice.sample), with_commas(sample->chosen()),
                                         counted(sample->of(), "file"), seed));
    }
    if (options.choice.audit && !options.json) {
        Table table({{"", Table::Align::left}, {"files", Table::Align::right}});
        const auto row = [&table](const char* what, std::uint64_t number) { table.add({what, with_commas(number)}); };
        row("as in the manifests", verdict.ok + verdict.unchanged);
        row("with another content", verdict.mismatch);
        row("not at their place", verdict.missing);
        row("moved", verdict.moved);
        row("duplicate", verdict.duplicate);
        row("new", verdict.extra);
        progress.clear();
        print(table.text());
    }
    if (options.json) print(writer->end(json_fields(verdict, seconds) + sample_fields));
    else if (!options.quiet || verdict.exit_code() != exit_good) complain(weir_check, summary(verdict, seconds));
    if (options.ignore_missing && verdict.files() == 0 && verdict.exit_code() == exit_good) {
        complain(weir_check, "none of the files is there, so nothing was checked");
        return end_with(weir_check, exit_missing);
    }
    return end_with(weir_check, verdict.exit_code());
}

}  // namespace

void add_check(CLI::App& parent, Command& chosen) {
    auto options = std::make_shared<CheckOptions>();  // shared by the parser's callbacks and the command
    auto& command =
        add_command(parent, group_look, "check", "checks files against manifests: GNU, BSD, SFV, JSON, CSV ...",
                    "weir check SHA256SUMS");
    add_value(command, "manifest", options->manifests.paths, "MANIFEST", "its form is recognised; - is stdin")
        .required();
    add_value(command, "-C,--directory", options->manifests.directory, "DIR",
              "where relative names begin (default: here)");
    add_value(command, "-a,--algorithm", options->algorithm, "A",
              "of lines without one (default: by their length and the manifest's name)");
    add_flag(command, "--ignore-missing", options->ignore_missing, "files that are not there are no failure");
    add_flag(command, "--allow-outside", options->manifests.allow_outside, "also names that lead out of the directory");
    add_flag(command, "--extra", options->choice.extra, "also report files beside them that no manifest names");
    add_flag(command, "--audit", options->choice.audit, "--extra, and read these: which are moved, duplicate, new");
    add_flag(command, "--only-changed", options->choice.only_changed,
             "do not read files with a current attribute that has the same sums");
    add_value(command, "--sample", options->choice.sample, "PART", "a random part of the files: 1%");
    add_value(command, "--seed", options->choice.seed, "N", "of the sample: the same files again").group(more_options);
    add_value(command, "--max-age", options->choice.age_max, "TIME",
              "--only-changed, where the attribute is not older: 30d")
        .group(more_options);
    add_flag(command, "-q,--quiet", options->quiet, "do not print files that are good");
    add_read_options(command, options->reading);
    add_flag(command, "--zero", options->manifests.zero, "lines of the manifest end with NUL").group(more_options);
    add_json_flag(command, options->json);
    command.callback([options, &chosen] {
        chosen = [options] { return run_or_fail(weir_check, [&options] { return run_check(*options); }); };
    });
}

}  // namespace weir::app
