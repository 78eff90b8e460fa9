// SPDX-License-Identifier: Apache-2.0
// How an error of an event reads: which level, at which byte of the event, why. One form for all, so
// that a damaged event can be found in a hex dump.
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "weir/event/fragment.hpp"

namespace weir::event {

[[nodiscard]] inline std::unexpected<Error> fault(Errc code, Level level, std::size_t offset, std::string_view reason) {
    return fail(code, fmt::format("{} fragment at byte {}: {}", name(level), offset, reason));
}

}  // namespace weir::event
