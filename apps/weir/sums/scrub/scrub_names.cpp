// SPDX-License-Identifier: Apache-2.0
#include "sums/scrub/scrub_names.hpp"

#include <algorithm>
#include <array>

#include "sums/sum_names.hpp"

namespace weir::app {

bool is_manifest_name(std::string_view path) {
    std::string name(path.substr(path.rfind('/') + 1));
    std::ranges::transform(name, name.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    static constexpr std::array<std::string_view, 14> endings{".sfv",    ".md5",    ".sha1",     ".sha224", ".sha256",
                                                              ".sha384", ".sha512", ".b2",       ".b3",     ".adler32",
                                                              ".crc32c", ".xxh128", ".hashdeep", ".weir"};
    static constexpr std::array<std::string_view, 10> names{"md5sums",    "sha1sums",     "sha224sums", "sha256sums",
                                                            "sha384sums", "sha512sums",   "b2sums",     "b3sums",
                                                            "weirsums",   "manifest.json"};
    if (std::ranges::any_of(endings, [&](auto ending) { return name.ends_with(ending); })) return true;
    if (name.ends_with(".txt")) name.resize(name.size() - 4);
    return std::ranges::find(names, name) != names.end();
}

bool walks_before(std::string_view a, std::string_view b) {
    // A slash sorts before every other byte here: what is in "a/" comes before "a-b", as "a" does.
    return std::ranges::lexicographical_compare(a, b, [](char x, char y) {
        const auto rank = [](char c) { return c == '/' ? 0 : static_cast<unsigned char>(c) + 1; };
        return rank(x) < rank(y);
    });
}

ScrubNames::ScrubNames(std::string root, std::string after, CheckManifests::Complain complain)
    : walk_(std::move(root), false), after_(std::move(after)), complain_(std::move(complain)) {}

std::optional<fixity::Job> ScrubNames::next() {
    while (true) {
        if (manifest_) {
            if (auto job = manifest_->next()) return job;
            malformed_ += manifest_->malformed() + manifest_->missing() + manifest_->unreadable();
            manifest_.reset();
        }
        auto item = walk_.next();
        if (!item) return std::nullopt;
        if (!after_.empty() && !walks_before(after_, item->path)) continue;
        auto job = job_of(std::move(*item), false);
        if (!job) {
            ++links_;
            continue;
        }
        if (!job->settled && is_manifest_name(job->path)) {
            CheckSettings settings;
            settings.paths = {job->path};
            settings.directory = std::filesystem::path(job->path).parent_path();
            if (settings.directory.empty()) settings.directory = ".";
            manifest_.emplace(std::move(settings), complain_);
        }
        job->attributes = fixity::AttributeUse::verify;
        return job;
    }
}

}  // namespace weir::app
