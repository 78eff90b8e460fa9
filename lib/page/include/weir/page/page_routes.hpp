// SPDX-License-Identifier: Apache-2.0
// The operation page: / and the files that it consists of. One page for all programs that serve it; it shows what GET
// /live has. Everything comes from this server, and the browser is told to take nothing else.
#pragma once

#include <string_view>
#include <vector>

#include "weir/service/http_server.hpp"

namespace weir::page {

/// GET / and /page/*. Compresses the files, once, which takes some milliseconds.
[[nodiscard]] std::vector<service::HttpRoute> page_routes();

/// Adds what a browser needs to be told of a file of a page: nothing from elsewhere, no other type, no frame around it.
void protect(service::HttpResponse& response);

}  // namespace weir::page
