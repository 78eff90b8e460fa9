// SPDX-License-Identifier: Apache-2.0
#include "weir/base/result.hpp"

#include <fmt/format.h>

#include <system_error>

namespace weir {

const char* name(Errc code) noexcept {
    switch (code) {
        case Errc::io: return "io";
        case Errc::truncated: return "truncated";
        case Errc::corrupt: return "corrupt";
        case Errc::unsupported: return "unsupported";
        case Errc::limit: return "limit";
        case Errc::refused: return "refused";
        case Errc::usage: return "usage";
    }
    return "unknown";
}

std::string Error::message() const {
    if (os_errno == 0) return context;
    return fmt::format("{}: {}", context, std::system_category().message(os_errno));
}

}  // namespace weir
