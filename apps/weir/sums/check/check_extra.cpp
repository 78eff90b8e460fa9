// SPDX-License-Identifier: Apache-2.0
#include "sums/check/check_extra.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "weir/digest/summer.hpp"

namespace weir::app {
namespace {

namespace fs = std::filesystem;

/// The deepest directory above both.
fs::path common(const fs::path& a, const fs::path& b) {
    fs::path both;
    for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end() && *i == *j; ++i, ++j) both /= *i;
    return both;
}

bool is_below(const fs::path& path, const fs::path& directory) {
    return std::ranges::mismatch(directory, path).in1 == directory.end();
}

/// Without those that lie below another one, in their order.
std::vector<fs::path> outermost(std::vector<fs::path> roots) {
    std::ranges::sort(roots);  // what is below comes later
    std::vector<fs::path> kept;
    for (auto& root : roots) {
        if (std::ranges::none_of(kept, [&](const fs::path& above) { return is_below(root, above); }))
            kept.push_back(std::move(root));
    }
    return kept;
}

}  // namespace

ExtraFiles::Key ExtraFiles::key_of(std::string_view path) {
    const auto sum = digest::sum(digest::Algorithm::blake3, as_data(path));
    Key key;
    std::ranges::copy(sum.bytes().first(key.size()), key.begin());
    return key;
}

void ExtraFiles::add_named(std::string_view name, std::size_t manifest) {
    const auto path = (base_ / fs::path(name)).lexically_normal();
    named_.push_back(key_of(path.native()));
    const auto directory = path.parent_path();
    if (roots_.empty() || manifest != manifest_) roots_.push_back(directory);
    else if (!is_below(directory, roots_.back())) roots_.back() = common(roots_.back(), directory);
    manifest_ = manifest;
}

std::string ExtraFiles::name_of(const fs::path& path) const {
    return is_below(path, base_) ? path.lexically_relative(base_).native() : path.native();
}

std::vector<std::string> ExtraFiles::directories() const {
    std::vector<std::string> names;
    for (const auto& root : outermost(roots_)) names.push_back(name_of(root));
    return names;
}

bool ExtraFiles::is_excluded(const fixity::FileStamp& stamp) const noexcept {
    return std::ranges::any_of(excluded_,
                               [&](const auto& one) { return one.device == stamp.device && one.inode == stamp.inode; });
}

std::uint64_t ExtraFiles::find(const std::function<void(fixity::FileSum)>& sink, const std::function<bool()>& stop) {
    std::ranges::sort(named_);
    std::uint64_t links = 0;
    for (const auto& root : outermost(roots_)) {
        struct stat status{};
        if (::stat(root.c_str(), &status) != 0 && errno == ENOENT)
            continue;  // its files were missing, which was reported
        fixity::TreeWalk walk(root.native(), false);
        while (auto item = walk.next()) {
            if (stop()) return links;
            if (std::ranges::binary_search(named_, key_of(item->path))) continue;
            if (item->kind == fixity::WalkItem::Kind::link) ++links;
            else if (auto found = look_at(std::move(*item))) sink(std::move(*found));
        }
    }
    return links;
}

std::optional<fixity::FileSum> ExtraFiles::look_at(fixity::WalkItem item) const {
    fixity::FileSum found;
    found.path = name_of(item.path);
    found.origin = fixity::Origin::found;
    found.status = item.kind == fixity::WalkItem::Kind::failure ? fixity::Status::error : fixity::Status::skipped;
    found.failure = std::move(item.failure);
    if (item.kind != fixity::WalkItem::Kind::file) return found;
    struct stat status{};
    if (::lstat(item.path.c_str(), &status) != 0) {
        if (errno == ENOENT) return std::nullopt;  // taken away meanwhile
    } else {
        found.stamp = fixity::stamp_of(status);
        if (is_excluded(found.stamp)) return std::nullopt;
    }
    found.status = fixity::Status::extra;
    found.failure.reset();
    return found;
}

}  // namespace weir::app
