// SPDX-License-Identifier: Apache-2.0
// weir sum: any sums of any files in one read, as a manifest that weir check or the usual tools can check.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/output.hpp"
#include "sums/commands.hpp"
#include "sums/sum/sum_range.hpp"
#include "sums/sum/sum_update.hpp"
#include "sums/sum_names.hpp"
#include "sums/sum_output.hpp"
#include "sums/sum_progress.hpp"
#include "sums/sum_settings.hpp"
#include "sums/sum_verdict.hpp"
#include "weir/fixity/manifest_writer.hpp"

namespace weir::app {
namespace {

constexpr const char* weir_sum = "weir sum";

struct SumOptions {
    NameSettings names;
    AlgorithmList algorithms;
    fixity::Format format = fixity::Format::bsd;
    bool json = false;
    bool zero = false;
    std::filesystem::path output;
    std::optional<Bytes> blocks;
    fixity::AttributeUse attributes = fixity::AttributeUse::none;
    std::optional<RangeOption> range;
    std::optional<UpdateKind> update;
    ReadSettings reading;
};

/// Puts outcomes where they belong: sums into the manifest, everything else to stderr.
class SumReporter {
public:
    /// `update`: the manifest that is updated, else nothing.
    SumReporter(const SumOptions& options, fixity::ManifestWriter& writer, SumOutput& output, SumProgress& progress,
                ManifestUpdate* update)
        : options_(options), writer_(writer), output_(output), progress_(progress), update_(update) {}

    void take(fixity::FileSum file) {
        if (file.status == fixity::Status::skipped && output_.is_own(file.stamp)) return exclude(file);
        if (file.expected) return keep(file);
        progress_.add_file();
        if (file.status == fixity::Status::error && output_.is_own(file.stamp)) replaces_input = true;
        if (file.attributes.taken) sums_taken += file.sums.size();
        add_to_manifest(file);
        verdict.count(file);
        report(file);
    }

    SumVerdict verdict;
    std::uint64_t as_before = 0, replaced = 0;  // entries of the manifest to be updated that were read
    std::uint64_t sums_taken = 0;               // from attributes
    bool replaces_input = false;                // a file to be summed is the one that the sums go to

private:
    /// Of a file that the manifest to be updated names: its entry stays, unless it was read and has other bytes.
    void keep(fixity::FileSum& file) {
        progress_.add_file();
        auto& known = *file.expected;
        if (file.status == fixity::Status::mismatch && !file.sums.empty()) {
            problem(fmt::format("{} has other bytes than in {}; its sums were made anew", file.path,
                                options_.output.native()));
            known.sums = std::move(file.sums);
            if (known.size) known.size = file.size;
            known.blocks = std::move(file.blocks);
            file.status = fixity::Status::ok;
            ++replaced;
        } else if (file.status == fixity::Status::ok) {
            ++as_before;
        } else if (file.status == fixity::Status::missing) {
            problem(fmt::format("{} is not there; its sums stay in {}", file.path, options_.output.native()));
        } else if (const auto text = complaint(file); !text.empty()) {
            problem(text);
        }
        verdict.count(file);
        text_ = update_->comments_before(known.line);
        if (const auto added =
                writer_.add(known, text_, is_json() ? fmt::format(R"(,"status":"{}")", fixity::name(file.status)) : "");
            added)
            return output_.write(text_);
        else problem(added.error().context);
        ++verdict.error;
    }

    void exclude(const fixity::FileSum& file) {
        if (output_.has_own_name(file.stamp))
            problem(fmt::format("{} is where these sums go; it was not summed", file.path));
    }

    /// What is damaged must not get into a manifest as if it were good.
    [[nodiscard]] bool is_refused(const fixity::FileSum& file) const {
        return options_.attributes == fixity::AttributeUse::write && file.status == fixity::Status::mismatch;
    }

    [[nodiscard]] bool verifies() const { return options_.attributes == fixity::AttributeUse::verify; }
    [[nodiscard]] bool is_json() const { return options_.format == fixity::Format::json; }

    void add_to_manifest(fixity::FileSum& file) {
        if (file.status == fixity::Status::skipped || file.status == fixity::Status::stopped) return;
        if (!is_json() && verifies())
            return output_.write(fmt::format("{}: {}\n", printable(file.path), finding(file)));
        if (!is_json() && (file.sums.empty() || is_refused(file))) return;
        fixity::ManifestEntry entry{
            .name = file.path, .sums = file.sums, .one_of = {}, .size = std::nullopt, .blocks = file.blocks, .line = 0};
        if (!file.sums.empty()) entry.size = file.size;
        text_ = update_ != nullptr ? update_->comments_before() : "";
        if (const auto added = writer_.add(entry, text_, is_json() ? json_fields(file) : ""); !added) {
            file.status = fixity::Status::error;
            file.failure = fixity::Failure{std::nullopt, 0, "its name does not fit"};
            problem(added.error().context);
            return;
        }
        output_.write(text_);
    }

    void report(const fixity::FileSum& file) {
        if (file.failure && file.failure->text == "its name does not fit") return;
        if (const auto text = complaint(file); !text.empty()) problem(text);
        if (is_refused(file))
            problem(
                fmt::format("{} is not as in its attributes: {} is not of these bytes; nothing was stored, restore "
                            "the file or store anew with --xattr replace",
                            file.path, fmt::join(file.attributes.mismatches, ", ")));
        if (options_.attributes == fixity::AttributeUse::replace && !file.attributes.mismatches.empty())
            problem(fmt::format("warning: {}: {} was not of these bytes, and is replaced", file.path,
                                fmt::join(file.attributes.mismatches, ", ")));
        for (const auto& warning : file.attributes.warnings) {
            // A whole tree without attributes is reported once.
            if (warning == last_warning_) continue;
            problem(fmt::format("warning: {}: {}", file.path, warning));
            last_warning_ = warning;
        }
    }

    void problem(std::string_view text) {
        progress_.clear();
        complain(weir_sum, text);
    }

    const SumOptions& options_;
    fixity::ManifestWriter& writer_;
    SumOutput& output_;
    SumProgress& progress_;
    ManifestUpdate* const update_;
    std::string text_;
    std::string last_warning_;
};

std::string own_input(const SumOptions& options, std::string_view what) {
    return fmt::format("-o {} would replace {}, which is to be summed; choose another place, nothing was written",
                       options.output.native(), printable(what));
}

std::string as_words(const SumOptions& options) {
    std::string text = weir_sum;
    for (const auto& path : options.names.paths) text += " " + printable(path);
    return text;
}

/// Sums of a part must not get to where those of a whole file are looked for.
Result<> check_range(const SumOptions& options) {
    const auto& names = options.names;
    const bool others = options.format != fixity::Format::bsd && options.format != fixity::Format::json;
    const char* const wrong = names.recurse || !names.list.empty() || names.follow ? "-r, --follow and --files-from"
                              : others || options.zero                             ? "manifests (-f, --zero)"
                              : !options.output.empty()                            ? "manifests (-o)"
                              : options.attributes != fixity::AttributeUse::none   ? "--xattr"
                              : options.blocks                                     ? "--blocks"
                              : options.reading.paranoid                           ? "--paranoid"
                                                                                   : nullptr;
    if (wrong != nullptr)
        return fail(Errc::usage, fmt::format("--range does not go with {}: it sums a part of each named file", wrong));
    return {};
}

Result<> check_update(const SumOptions& options) {
    const char* const wrong = options.output.empty() ? "needs the manifest as -o FILE"
                              : options.format != fixity::Format::bsd
                                  ? "keeps the form of the manifest; omit -f and --json"
                              : options.algorithms.values.size() > 1 ? "keeps the algorithms of the manifest; omit -a"
                              : options.attributes != fixity::AttributeUse::none ? "does not go with --xattr"
                              : options.range                                    ? "does not go with --range"
                                                                                 : nullptr;
    return wrong != nullptr ? fail(Errc::usage, fmt::format("--update {}", wrong)) : Result<>{};
}

Result<> check(SumOptions& options) {
    if (options.json) options.format = fixity::Format::json;
    if (options.update) {
        WEIR_TRY(check_update(options));
    }
    if (options.names.paths.empty() && options.names.list.empty() && !options.update)
        return fail(Errc::usage, "FILE is missing; weir sum --help shows an example (- is stdin)");
    const auto& names = options.names;
    if (std::ranges::count_if(names.paths, is_stdin) + (is_stdin(names.list) ? 1 : 0) > 1)
        return fail(Errc::usage, "stdin (-) can be read only once; name it once, as a file or as the list of names");
    if (options.algorithms.values.empty() && !options.update) {
        using fixity::Format;
        if (options.format == Format::sfv) options.algorithms.values = {digest::Algorithm::crc32};
        else if (options.format == Format::cksum) options.algorithms.values = {digest::Algorithm::cksum};
        else if (options.attributes != fixity::AttributeUse::verify)
            options.algorithms.values = {digest::Algorithm::adler32};
    }
    if (options.range) {
        WEIR_TRY(check_range(options));
    }
    if (options.blocks && (options.format == fixity::Format::csv || options.format == fixity::Format::xrootd))
        return fail(Errc::usage, fmt::format("--blocks: --format {} cannot hold the sums of blocks; use bsd or json",
                                             fixity::name(options.format)));
    if (options.blocks &&
        (options.blocks->count() < fixity::block_size_min || options.blocks->count() % fixity::block_size_min != 0))
        return fail(Errc::usage, fmt::format("--blocks {}: choose a multiple of 4KiB, for example 1MiB",
                                             to_string(*options.blocks)));
    if (options.reading.paranoid && options.attributes == fixity::AttributeUse::read)
        return fail(Errc::usage,
                    "--paranoid reads every file, and --xattr read reads none that has its sums; take one of them");
    return ReadPlan::check(options.reading);
}

/// The algorithms of which sums will be made; those of attributes are known when they are read.
std::vector<digest::Algorithm> to_be_made(const SumOptions& options) {
    if (options.attributes != fixity::AttributeUse::none) return {digest::algorithms.begin(), digest::algorithms.end()};
    auto made = options.algorithms.values;
    if (options.blocks) made.push_back(digest::Algorithm::crc32c);
    return made;
}

int run_sum(SumOptions options) {
    if (const auto good = check(options); !good) return fail_with(weir_sum, good.error());
    std::optional<ManifestUpdate> update;
    if (options.update) {
        const auto& given = options.algorithms.values;
        auto read = ManifestUpdate::read(options.output, *options.update,
                                         given.empty() ? std::nullopt : std::optional(given.front()), options.zero);
        if (!read) return fail_with(weir_sum, read.error());
        if (!given.empty() && read->algorithms() != given)
            return fail_usage(weir_sum, fmt::format("--update: {} has other sums than {}; omit -a",
                                                    options.output.native(), digest::name(given.front())));
        update = std::move(*read);
        options.format = update->format();
        options.algorithms.values = update->algorithms();
    }
    if (const auto good = sums_are_right(to_be_made(options)); !good) return fail_work(weir_sum, good.error());
    become_idle(weir_sum, options.reading);
    if (options.range)
        return sum_ranges(weir_sum, {options.range->bytes, options.names.paths, options.algorithms.values,
                                     options.format == fixity::Format::json, options.reading});
    std::error_code ignored;
    auto writer = fixity::ManifestWriter::make({.format = options.format,
                                                .algorithms = options.algorithms.values,
                                                .zero = options.zero,
                                                .invoked = as_words(options),
                                                .directory = std::filesystem::current_path(ignored).native()});
    if (!writer) return fail_work(weir_sum, writer.error());
    const Interruptible interruptible;
    auto output = SumOutput::open(options.output);
    if (!output) return fail_work(weir_sum, output.error());
    for (const auto& path : options.names.paths) {
        struct stat status{};
        if (!options.output.empty() && ::stat(path.c_str(), &status) == 0 && output->is_own(fixity::stamp_of(status)))
            return fail_usage(weir_sum, own_input(options, path));
    }

    const SystemClock clock;
    ReadPlan plan(options.reading, clock);
    plan.reading().leave_out = [&output](const fixity::FileStamp& stamp) { return output->is_own(stamp); };
    fixity::JobSource ahead;
    if (options.names.list.empty() || can_be_read_twice(options.names.list))
        ahead = [names = std::make_shared<SumNames>(options.names)] { return names->next(); };
    SumProgress progress(clock, "sum", std::move(ahead));
    plan.reading().progress = [&progress](std::uint64_t bytes) { progress.add_bytes(bytes); };

    SumNames names(options.names);
    SumReporter reporter(options, *writer, *output, progress, update ? &*update : nullptr);
    const auto source = [&]() -> std::optional<fixity::Job> {
        if (output->failed()) return std::nullopt;  // it would not be seen
        if (update) {
            if (auto known = update->next()) return known;
        }
        auto job = names.next();
        while (job && update && update->names(job->path)) job = names.next();
        if (job) {
            job->algorithms = options.algorithms.values;
            job->block = options.blocks ? options.blocks->count() : 0;
            job->attributes = options.attributes;
        }
        return job;
    };
    const bool is_manifest =
        options.attributes != fixity::AttributeUse::verify || options.format == fixity::Format::json;
    if (is_manifest) output->write(writer->begin());
    const auto begin = clock.now();
    fixity::sum_many(
        source, [&](fixity::FileSum file) { reporter.take(std::move(file)); }, plan.reading(), plan.parallel(), clock,
        [&progress] { progress.show(); });
    const double seconds = std::chrono::duration<double>(clock.now() - begin).count();
    progress.clear();
    plan.warn_of_threads(weir_sum);

    auto& verdict = reporter.verdict;
    verdict.links = names.links();
    verdict.interrupted = stop_is_pending();
    if (names.list_failure()) {
        complain(weir_sum,
                 fmt::format("cannot read the names in {}: {}", options.names.list, names.list_failure()->text));
        ++verdict.error;
    }
    if (verdict.links > 0)
        complain(weir_sum, fmt::format("{} not followed; --follow sums what they lead to",
                                       counted(verdict.links, "symbolic link was", "symbolic links were")));
    if (reporter.sums_taken > 0)
        complain(weir_sum, fmt::format("{} from attributes; the bytes were not read",
                                       counted(reporter.sums_taken, "sum comes", "sums come")));
    if (update) {
        complain(weir_sum, fmt::format("{}: {} added, {} made anew, {} not there, {} not read", options.output.native(),
                                       counted(verdict.ok - reporter.replaced - reporter.as_before, "file"),
                                       with_commas(reporter.replaced), with_commas(verdict.missing),
                                       with_commas(verdict.unchanged)));
    }
    if (update) output->write(update->comments_before());
    output->write(writer->end(json_fields(verdict, seconds)));
    if (reporter.replaces_input && !options.output.empty())
        return fail_usage(weir_sum, own_input(options, "one of the files"));
    if (reporter.verdict.not_stored > 0)
        complain(weir_sum, fmt::format("the sums of {} were printed and not stored; the warnings have the reason",
                                       counted(reporter.verdict.not_stored, "file")));
    if (const auto finished = output->finish(!verdict.interrupted); !finished)
        return fail_work(weir_sum, finished.error());
    if (verdict.interrupted)
        complain(
            weir_sum,
            fmt::format("interrupted after {}{}", counted(verdict.files(), "file"),
                        options.output.empty() ? "" : "; what is done is in " + options.output.native() + ".partial"));
    return end_with(weir_sum, verdict.exit_code());
}

}  // namespace

void add_sum(CLI::App& parent, Command& chosen) {
    using fixity::AttributeUse;
    using fixity::Format;
    auto options = std::make_shared<SumOptions>();  // shared by the parser's callbacks and the command
    auto& command = add_command(parent, group_look, "sum", "sums of files, several in one read, as a manifest",
                                "weir sum -a adler32,crc32c,xxh3-128 -r data -o sums");
    add_value(command, "file", options->names.paths, "FILE", "what to read; - is stdin");
    add_value(command, "-a,--algorithms", options->algorithms, "A,B",
              "adler32 (default), crc32, cksum, crc32c, crc64-xz, md5, sha256, sha512, blake3 ...; all");
    add_flag(command, "-r,--recursive", options->names.recurse, "what is below directories");
    add_choice(command, "-f,--format", options->format,
               {{"bsd", Format::bsd},
                {"gnu", Format::gnu},
                {"sfv", Format::sfv},
                {"cksum", Format::cksum},
                {"hashdeep", Format::hashdeep},
                {"json", Format::json},
                {"csv", Format::csv},
                {"xrootd", Format::xrootd}},
               "form of the manifest");
    add_value(command, "-o,--output", options->output, "FILE", "write it there, complete or not at all");
    add_choice(command, "--update", options->update, {{"add", UpdateKind::add}, {"replace", UpdateKind::replace}},
               "-o is there: add files that it does not name; also read the others")
        .group(more_options);
    add_value(command, "--blocks", options->blocks, "SIZE",
              "also the crc32c of each block, so that a check finds the place");
    add_value(command, "--range", options->range, "OFF:LEN", "of these bytes alone: 1MiB:4KiB; no manifest")
        .group(more_options);
    add_choice(command, "--xattr", options->attributes,
               {{"none", AttributeUse::none},
                {"read", AttributeUse::read},
                {"write", AttributeUse::write},
                {"replace", AttributeUse::replace},
                {"verify", AttributeUse::verify}},
               "sums in XRootD's and weir's attributes");
    add_read_options(command, options->reading);
    add_value(command, "--files-from", options->names.list, "FILE", "more names, one a line; - is stdin")
        .group(more_options);
    add_flag(command, "--from0", options->names.list_zero, "they end with NUL").group(more_options);
    add_flag(command, "--follow", options->names.follow, "follow symbolic links below directories").group(more_options);
    add_flag(command, "--zero", options->zero, "lines of the manifest end with NUL").group(more_options);
    add_json_flag(command, options->json);
    command.callback([options, &chosen] {
        chosen = [options] { return run_or_fail(weir_sum, [&options] { return run_sum(*options); }); };
    });
}

}  // namespace weir::app
