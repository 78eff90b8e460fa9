// SPDX-License-Identifier: Apache-2.0
#include "sums/sum/sum_update.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "weir/fixity/manifest_reader.hpp"
#include "weir/fixity/manifest_writer.hpp"

namespace weir::app {

using fixity::Format;

ManifestUpdate::ManifestUpdate(UpdateKind kind) : kind_(kind), base_(std::filesystem::current_path()) {}

Result<ManifestUpdate> ManifestUpdate::read(const std::filesystem::path& path, UpdateKind kind,
                                            std::optional<digest::Algorithm> algorithm, bool zero) {
    const auto wrong = [&](std::string_view why) {
        return fail(Errc::usage, fmt::format("--update: {} {}; nothing was written", path.native(), why));
    };
    const fixity::Reading how;
    auto opened = fixity::InputFile::open(path.native(), fixity::Origin::listed, how);
    if (!opened) return fail_errno(opened.error().os_errno, fmt::format("--update: cannot open {}", path.native()));
    auto file = std::make_shared<fixity::InputFile>(std::move(*opened));  // the reader's, in a copyable function
    auto source = [file, &how, path, offset = std::uint64_t{0}](MutableData to) mutable -> Result<std::size_t> {
        const auto got = file->read(offset, to, how);
        if (!got)
            return fail_errno(got.error().os_errno,
                              fmt::format("--update: cannot read {} at offset {}", path.native(), offset));
        return offset += *got, *got;
    };
    ManifestUpdate update(kind);
    update.line_end_ = zero ? '\0' : '\n';
    fixity::ManifestReader reader(std::move(source), {.algorithm = algorithm,
                                                      .name = path.native(),
                                                      .zero = zero,
                                                      .comment = [&update](std::uint64_t line, std::string_view text) {
                                                          update.comments_.emplace_back(line, text);
                                                      }});
    while (true) {
        auto item = WEIR_TRY(reader.next());
        if (!item) break;
        if (const auto* problem = std::get_if<fixity::ManifestProblem>(&*item)) {
            if (problem->malformed) return wrong(fmt::format("line {} {}", problem->line, problem->text));
        } else if (auto added = update.add(std::move(std::get<fixity::ManifestEntry>(*item))); !added) {
            return wrong(added.error().context);
        }
    }
    if (update.algorithms_.empty()) return wrong("has no sums in it");
    update.format_ = reader.format().value_or(Format::bsd);
    update.remove_header();
    if (update.format_ == Format::csv || update.format_ == Format::hashdeep) {
        const auto has_all = [&](const auto& entry) {
            return std::ranges::equal(entry.sums, update.algorithms_, {}, &digest::Digest::algorithm);
        };
        if (!std::ranges::all_of(update.entries_, has_all))
            return wrong("has files without some of its sums; make it anew");
    }
    return update;
}

/// Comments that are written with the form again.
void ManifestUpdate::remove_header() {
    const auto first = entries_.front().line;
    std::erase_if(comments_, [&](const auto& comment) {
        const auto& [line, text] = comment;
        if (line > first) return false;
        if (format_ == Format::sfv) return text == fixity::sfv_mark;
        return format_ == Format::hashdeep &&
               (text.starts_with("## Invoked from: ") || text.starts_with("## $ ") || text == "## " || text == "##");
    });
}

std::string ManifestUpdate::comments_before(std::uint64_t line) {
    std::string text;
    for (; !comments_.empty() && comments_.front().first < line; comments_.pop_front())
        text += comments_.front().second + line_end_;
    return text;
}

Result<> ManifestUpdate::add(fixity::ManifestEntry entry) {
    if (!entry.one_of.empty())
        return fail(Errc::usage, fmt::format("line {} does not name its algorithm; name it with -a", entry.line));
    if (entry.sums.empty()) return {};  // of JSON: it could not be read then, and is looked at again when it is named
    for (const auto& sum : entry.sums) {
        if (std::ranges::find(algorithms_, sum.algorithm()) == algorithms_.end())
            algorithms_.push_back(sum.algorithm());
    }
    if (!places_.insert(place_of(entry.name)).second)
        return fail(Errc::usage, fmt::format("line {} names {} again", entry.line, entry.name));
    entries_.push_back(std::move(entry));
    return {};
}

std::optional<fixity::Job> ManifestUpdate::next() {
    if (at_ == entries_.size()) return std::nullopt;
    fixity::Job job;
    job.expected = std::make_unique<fixity::ManifestEntry>(std::move(entries_[at_++]));
    job.path = job.expected->name;
    job.origin = fixity::Origin::listed;
    if (kind_ == UpdateKind::add) {
        std::error_code error;
        job.settled =
            std::filesystem::exists(job.path, error) || error ? fixity::Status::unchanged : fixity::Status::missing;
    }
    return job;
}

}  // namespace weir::app
