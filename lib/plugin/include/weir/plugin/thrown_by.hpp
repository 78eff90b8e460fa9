// SPDX-License-Identifier: Apache-2.0
// A call of foreign code, whose exceptions end here.
#pragma once

#include <exception>
#include <optional>
#include <string>

namespace weir::plugin {

/// Does `work`. The text of what it threw; nothing: it returned.
template <class Work>
[[nodiscard]] std::optional<std::string> thrown_by(Work&& work) {
    try {
        work();
    } catch (const std::exception& error) {
        return error.what();
    } catch (...) {
        return "something that is no std::exception";
    }
    return std::nullopt;
}

}  // namespace weir::plugin
