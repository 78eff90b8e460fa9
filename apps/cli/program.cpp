// SPDX-License-Identifier: Apache-2.0
#include "cli/program.hpp"

#include <algorithm>
#include <exception>
#include <memory>

#include "cli/help_formatter.hpp"
#include "cli/output.hpp"
#include "cli/process/standard_descriptors.hpp"

namespace weir::app {

const KnownCommand* named_command(std::span<const KnownCommand> commands, int argc, char** argv) noexcept {
    if (argc < 2) return nullptr;
    const auto found = std::ranges::find(commands, std::string_view(argv[1]), &KnownCommand::name);
    return found == commands.end() ? nullptr : &*found;
}

int run_program(std::span<const KnownCommand> commands, int argc, char** argv) {
    open_standard_descriptors();
    try {
        CLI::App weir("carries detector events from readout to permanent storage");
        weir.formatter(std::make_shared<HelpFormatter>());
        weir.set_help_all_flag("--help-all", "every option");
        weir.set_version_flag("--version", "weir " WEIR_VERSION);
        weir.footer("weir demo");
        weir.require_subcommand(1);

        Command chosen;
        const auto* named = named_command(commands, argc, argv);
        for (const auto& known : named != nullptr ? std::span(named, 1) : commands) known.add(weir, chosen);

        const auto ended = parse(weir, argc, argv);
        const int code = ended ? *ended : chosen();
        if (output_arrived_or_reported("weir")) return code;
        return code == exit_good ? exit_bad : code;
    } catch (const std::exception& error) {
        complain("weir", error.what());
        return exit_bad;
    }
}

}  // namespace weir::app
