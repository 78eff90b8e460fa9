// SPDX-License-Identifier: Apache-2.0
// Pages of the users beside ours, from a directory: static files below /pages/. They may use everything that this
// server answers, as our own page does.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/result.hpp"
#include "weir/service/http_server.hpp"

namespace weir::page {

/// The file that a path below /pages/ means; nothing: none. Names are of letters, digits, '.', '_' and '-', and do not
/// begin with a dot; so nothing outside of the directory can be named, and a link that leads out of it is not followed.
[[nodiscard]] std::optional<std::filesystem::path> further_page(const std::filesystem::path& directory,
                                                                std::string_view path);

/// The *.html right in the directory, by name, 32 at most: the page links to them.
[[nodiscard]] std::vector<std::string> further_page_names(const std::filesystem::path& directory);

/// GET /pages/*. A file of more than 8 MiB is refused. Errc::usage: it is no directory.
[[nodiscard]] Result<service::HttpRoute> further_pages_route(const std::filesystem::path& directory);

}  // namespace weir::page
