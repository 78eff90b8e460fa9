// SPDX-License-Identifier: Apache-2.0
// The keys of a selection, which `weir select` and `weir filter` share.
#pragma once

#include <string>

#include "weir/selection/selector.hpp"
#include "weir/service/configuration.hpp"

namespace weir::app {

struct PluginSettings {
    selection::SelectionSpec spec{};
    std::string workers_are = "processes";
    std::string python = "/usr/bin/python3";

    void declare(service::Settings& settings, const std::string& section);
    [[nodiscard]] Result<selection::SelectionSpec> to_spec() const;
};

}  // namespace weir::app
