// SPDX-License-Identifier: Apache-2.0
#include "weir/page/further_pages.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "assets.hpp"
#include "weir/base/file.hpp"
#include "weir/page/page_routes.hpp"

namespace weir::page {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view below = "/pages/";
constexpr Bytes file_size_max = 8_MiB;
constexpr std::size_t names_max = 32;

bool is_plain_name(std::string_view name) {
    return !name.empty() && name.front() != '.' && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
               c == '-';
    });
}

}  // namespace

std::optional<fs::path> further_page(const fs::path& directory, std::string_view path) {
    std::error_code failed;
    const auto top = fs::canonical(directory, failed);
    if (failed) return std::nullopt;
    auto file = top;
    while (!path.empty()) {
        const auto end = std::min(path.find('/'), path.size());
        if (!is_plain_name(path.substr(0, end))) return std::nullopt;
        file /= path.substr(0, end);
        if (end + 1 == path.size()) return std::nullopt;  // a folder
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    const auto real = fs::canonical(file, failed);
    if (failed || !fs::is_regular_file(real, failed)) return std::nullopt;
    const auto [left, rest] = std::ranges::mismatch(top, real);
    return left == top.end() ? std::optional(real) : std::nullopt;
}

std::vector<std::string> further_page_names(const fs::path& directory) {
    std::vector<std::string> names;
    std::error_code failed;
    for (fs::directory_iterator entry(directory, failed), end; !failed && entry != end; entry.increment(failed)) {
        const auto name = entry->path().filename().native();
        if (name.ends_with(".html") && is_plain_name(name)) names.push_back(name);
    }
    std::ranges::sort(names);
    if (names.size() > names_max) names.resize(names_max);
    return names;
}

Result<service::HttpRoute> further_pages_route(const fs::path& directory) {
    std::error_code failed;
    if (!fs::is_directory(directory, failed))
        return fail(Errc::usage, fmt::format("{} is no directory with further pages", directory.native()));
    return service::HttpRoute{
        service::HttpRoute::Method::get, "/pages/*",
        [directory](const service::HttpRequest& request, const service::HttpAnswer& answer) {
            const auto path = further_page(directory, std::string_view(request.path).substr(below.size()));
            if (!path) return answer(service::http_error(404, "there is no such further page"));
            auto text = read_text(*path, file_size_max);
            if (!text) return answer(service::http_error(500, "the further page cannot be read, or is too large"));
            service::HttpResponse response{
                .status = 200, .body = std::move(*text), .content_type = std::string(content_type_of(path->native()))};
            response.headers = {{"Cache-Control", "no-cache"}};
            protect(response);
            answer(std::move(response));
        }};
}

}  // namespace weir::page
