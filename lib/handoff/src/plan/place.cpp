// SPDX-License-Identifier: Apache-2.0
#include "weir/handoff/place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace weir::handoff {
namespace {

constexpr std::size_t name_size_max = 255;

/// Letters, digits and a few signs that mean nothing to a shell, a URL or a file system.
bool plain(std::string_view word) {
    const auto good = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               std::string_view("._-+=,@~").contains(c);
    };
    return !word.empty() && word != "." && word != ".." && std::ranges::all_of(word, good);
}

Result<> check_pattern(std::string_view pattern, std::string_view whole) {
    for (auto at = pattern.find_first_of("{}"); at != pattern.npos; at = pattern.find_first_of("{}", at + 1)) {
        const auto end = pattern.find('}', at);
        const auto word = end == pattern.npos ? std::string_view{} : pattern.substr(at, end - at + 1);
        if (word != "{run}" && word != "{stream}")
            return fail(
                Errc::usage,
                fmt::format("destination \"{}\" has a variable that is none; there are {{run}} and {{stream}}", whole));
        at = end;
    }
    return {};
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
    for (auto at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
        text.replace(at, what.size(), by);
}

}  // namespace

Result<Target> parse_target(std::string_view text) {
    Target target;
    auto url = text;
    const auto equals = text.find('=');
    if (equals != text.npos && plain(text.substr(0, equals))) {
        target.name = text.substr(0, equals);
        url = text.substr(equals + 1);
    }
    while (url.size() > 1 && url.ends_with('/')) url.remove_suffix(1);
    if (target.name.empty()) target.name = url;
    if (url.empty()) return fail(Errc::usage, "the destination is empty; give a directory or root://HOST:PORT//PATH");
    if (target.name.size() > name_size_max)
        return fail(Errc::usage,
                    fmt::format("destination \"{}\" is longer than {} bytes; give it a short name: NAME=URL", text,
                                name_size_max));
    const auto scheme = url.find("://");
    if (scheme != url.npos && !url.starts_with("root://") && !url.starts_with("roots://"))
        return fail(Errc::usage,
                    fmt::format("destination \"{}\" is no place that files are handed to; give a directory, "
                                "or root://HOST:PORT//PATH",
                                url));
    const auto variable = url.find_first_of("{}");
    const auto cut = variable == url.npos ? url.size() : url.rfind('/', variable);
    if (cut == url.npos)
        return fail(Errc::usage,
                    fmt::format("destination \"{}\" begins with a variable; give the directory above it", url));
    target.root = url.substr(0, cut);
    target.pattern = cut < url.size() ? url.substr(cut + 1) : std::string_view{};
    WEIR_TRY(check_pattern(target.pattern, url));
    return target;
}

bool is_xrootd(const Target& target) noexcept {
    return target.root.starts_with("root://") || target.root.starts_with("roots://");
}

std::string spelling_of(const Target& target) {
    namespace fs = std::filesystem;
    const auto below = [&](const fs::path& root) {
        auto whole = (root / target.pattern).lexically_normal().native();
        while (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
        return whole;
    };
    if (!is_xrootd(target)) {
        std::error_code error;
        const auto root = fs::weakly_canonical(fs::absolute(target.root), error);
        return below(error ? fs::path(target.root) : root);
    }
    const auto rest = std::string_view(target.root).substr(target.root.find("://") + 3);
    const auto slash = std::min(rest.find('/'), rest.size());
    auto host = std::string(rest.substr(0, slash));
    host.erase(0, host.find('@') + 1);  // npos + 1 is 0: no user is named
    std::ranges::transform(host, host.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (host.rfind(':') == host.npos || host.ends_with(']')) host += ":1094";
    const auto path = rest.substr(slash);
    const auto first = std::min(path.find_first_not_of('/'), path.size());
    return "root://" + host + below(fs::path("/" + std::string(path.substr(first))));
}

Result<std::string> place_of(const catalogue::FileRow& file, std::string_view pattern) {
    const auto stream = fmt::format("{}_{}", file.stream_type, file.stream_name);
    if (!plain(file.name) || !plain(stream))
        return fail(Errc::refused,
                    fmt::format("file {}/{} has a name that cannot be handed over: letters, digits and ._-+=,@~ can",
                                file.volume, file.name));
    std::string directory(pattern);
    replace_all(directory, "{run}", fmt::format("{:08}", number(file.run)));
    replace_all(directory, "{stream}", stream);
    return directory.empty() ? file.name : directory + "/" + file.name;
}

std::string temporary_place(const std::string& place, const Guid& guid, std::uint32_t attempt) {
    const auto slash = place.rfind('/');
    const auto directory = slash == place.npos ? std::string_view{} : std::string_view(place).substr(0, slash + 1);
    return fmt::format("{}{}.{}.weir-part", directory, to_string(guid), attempt);
}

}  // namespace weir::handoff
