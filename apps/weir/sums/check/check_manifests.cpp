// SPDX-License-Identifier: Apache-2.0
#include "sums/check/check_manifests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "sums/sum_settings.hpp"

namespace weir::app {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t problems_shown_max = 20;  // of a manifest; the rest is counted

}  // namespace

CheckManifests::CheckManifests(CheckSettings settings, Complain complain)
    : settings_(std::move(settings)), complain_(std::move(complain)) {
    std::error_code ignored;
    base_ = fs::absolute(settings_.directory.empty() ? fs::path(".") : settings_.directory, ignored).lexically_normal();
    if (!base_.has_filename()) base_ = base_.parent_path();  // "a/." became "a/"
}

std::optional<fixity::Job> CheckManifests::next() {
    while (!stopped_ && (reader_ || open_next())) {
        auto item = reader_->next();
        if (!item) {
            if (!stopped_) {
                ++unreadable_;
                report(item.error().message());
            }
            reader_.reset();
        } else if (!*item) {
            close();
        } else if (auto* problem = std::get_if<fixity::ManifestProblem>(&**item)) {
            malformed_ += problem->malformed ? 1U : 0U;
            if (++problems_ <= problems_shown_max)
                report(fmt::format("{}{}:{}: {}", problem->malformed ? "" : "warning: ", settings_.paths[at_ - 1],
                                   problem->line, problem->text));
            else if (problems_ == problems_shown_max + 1)
                report(fmt::format("{}: has more lines like these", settings_.paths[at_ - 1]));
        } else {
            ++entries_;
            return job_of(std::move(std::get<fixity::ManifestEntry>(**item)));
        }
    }
    return std::nullopt;
}

void CheckManifests::close() {
    if (entries_ == 0) {
        if (problems_ == 0) ++malformed_;
        report(fmt::format("{} has no sums in it, so nothing is proven", settings_.paths[at_ - 1]));
    }
    reader_.reset();
}

bool CheckManifests::open_next() {
    while (at_ < settings_.paths.size()) {
        const auto& path = settings_.paths[at_++];
        fixity::Reading how;
        how.stop = stop_is_pending;
        auto opened = fixity::InputFile::open(path, fixity::Origin::named, how);
        if (!opened) {
            report_failure(opened.error());
            continue;
        }
        stamps_.push_back(opened->stamp());
        entries_ = problems_ = 0;
        guessed_ = false;
        auto file = std::make_shared<fixity::InputFile>(std::move(*opened));  // the reader's, in a copyable function
        auto source = [this, file, how, path,
                       offset = std::uint64_t{0}](MutableData to) mutable -> Result<std::size_t> {
            const auto got = file->read(offset, to, how);
            if (got) return offset += *got, *got;
            stopped_ = got.error().stopped;
            return fail_errno(got.error().os_errno,
                              fmt::format("cannot read the manifest {} at offset {}", path, offset));
        };
        reader_.emplace(std::move(source), fixity::ManifestReader::Options{
                                               .algorithm = settings_.algorithm, .name = path, .zero = settings_.zero});
        return true;
    }
    return false;
}

void CheckManifests::report_failure(const fixity::Failure& failure) {
    const bool absent = failure.os_errno == ENOENT || failure.os_errno == ENOTDIR;
    ++(absent ? missing_ : unreadable_);
    report(fmt::format("cannot open the manifest {}: {}", settings_.paths[at_ - 1], failure.text));
}

fixity::Job CheckManifests::job_of(fixity::ManifestEntry entry) {
    if (!entry.one_of.empty() && !guessed_) {
        guessed_ = true;
        std::string names;
        for (const auto& sum : entry.one_of)
            names += (names.empty() ? "" : ", ") + std::string(digest::name(sum.algorithm()));
        report(fmt::format("warning: {} does not name its algorithm; {} are tried, -a names it",
                           settings_.paths[at_ - 1], names));
    }
    fixity::Job job;
    job.origin = fixity::Origin::listed;
    const fs::path name(entry.name);
    job.path = settings_.directory.empty() ? entry.name : (settings_.directory / name).native();
    if (!settings_.allow_outside && is_outside(base_ / name)) {
        ++malformed_;
        ++outside_;
        job.settled = fixity::Status::unverified;
        job.failure = fixity::Failure{std::nullopt, 0, "it lies outside of the directory; --allow-outside checks it"};
    }
    job.expected = std::make_unique<fixity::ManifestEntry>(std::move(entry));
    return job;
}

bool CheckManifests::is_outside(const fs::path& path) const {
    const auto normal = path.lexically_normal();
    return std::ranges::mismatch(base_, normal).in1 != base_.end();
}

void CheckManifests::report(std::string_view text) const {
    if (complain_) complain_(text);
}

}  // namespace weir::app
