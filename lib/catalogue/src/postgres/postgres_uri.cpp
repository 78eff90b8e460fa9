// SPDX-License-Identifier: Apache-2.0
#include "weir/catalogue/postgres_catalogue.hpp"

namespace weir::catalogue {

bool is_postgres_uri(std::string_view text) noexcept {
    return text.starts_with("postgresql://") || text.starts_with("postgres://");
}

std::string printable_postgres_uri(std::string_view uri) {
    std::string text(uri.substr(0, uri.find('?')));  // what stands behind may hold a password too
    if (!is_postgres_uri(text)) return text;
    const auto begin = text.find("://") + 3;
    const auto host = text.rfind('@');  // a password may hold an @ that is not escaped
    if (host == text.npos) return text;
    const auto colon = text.find(':', begin);
    if (colon < host) text.erase(colon, host - colon);
    return text;
}

}  // namespace weir::catalogue
