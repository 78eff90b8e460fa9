// SPDX-License-Identifier: Apache-2.0
#include "weir/page/page_routes.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <map>
#include <memory>
#include <string>

#include "assets.hpp"
#include "gzip.hpp"

namespace weir::page {
namespace {

constexpr std::string_view folder = "/page/";

struct Served {
    std::string_view type;
    std::string_view plain;
    std::string small;  // gzipped
    std::string tag;    // of the plain one, without quotes
};

/// By path.
using ServedFiles = std::map<std::string, Served, std::less<>>;

ServedFiles served_files() {
    ServedFiles files;
    for (const auto& [name, bytes] : assets()) {
        const auto sum = ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
        const auto path = name == "index.html" ? std::string("/") : fmt::format("{}{}", folder, name);
        files[path] = {content_type_of(name), bytes, gzipped(bytes, 9), fmt::format("{:08x}-{:x}", sum, bytes.size())};
    }
    return files;
}

service::HttpResponse answer_with(const Served& file, const service::HttpRequest& request) {
    const auto tag = fmt::format("\"{}{}\"", file.tag, request.takes_gzip ? "-gz" : "");
    service::HttpResponse response;
    response.content_type = file.type;
    response.headers = {{"ETag", tag}, {"Cache-Control", "no-cache"}, {"Vary", "Accept-Encoding"}};
    protect(response);
    if (request.if_none_match.find(tag) != request.if_none_match.npos) {
        response.status = 304;
        return response;
    }
    if (request.takes_gzip) response.headers.emplace_back("Content-Encoding", "gzip");
    response.body = request.takes_gzip ? file.small : std::string(file.plain);
    return response;
}

}  // namespace

void protect(service::HttpResponse& response) {
    response.headers.emplace_back("Content-Security-Policy",
                                  "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'");
    response.headers.emplace_back("X-Content-Type-Options", "nosniff");
    response.headers.emplace_back("Referrer-Policy", "no-referrer");
}

std::vector<service::HttpRoute> page_routes() {
    const auto files = std::make_shared<const ServedFiles>(served_files());  // shared by the two routes
    const auto serve = [files](const service::HttpRequest& request, const service::HttpAnswer& answer) {
        const auto file = files->find(request.path);
        if (file == files->end()) return answer(service::http_error(404, "the page has no such file"));
        answer(answer_with(file->second, request));
    };
    return {{service::HttpRoute::Method::get, "/", serve}, {service::HttpRoute::Method::get, "/page/*", serve}};
}

}  // namespace weir::page
