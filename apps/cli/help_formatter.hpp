// SPDX-License-Identifier: Apache-2.0
// Help that fits a terminal of 80 columns and 24 lines: what the command is for, its usage, a line or
// two an option with unit and default, and one example that runs.
#pragma once

#include <CLI/App.hpp>
#include <CLI/FormatterFwd.hpp>

#include <string>

namespace weir::app {

class HelpFormatter final : public CLI::FormatterBase {
public:
    /// For the parser. Options in the group `more_options` are explained in mode All only.
    [[nodiscard]] std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;

    [[nodiscard]] static std::string help_of(const CLI::App& app, CLI::AppFormatMode mode);
};

}  // namespace weir::app
