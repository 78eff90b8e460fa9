// SPDX-License-Identifier: Apache-2.0
// weir: the one program. The commands in the order of `weir --help`; each has a file of its name.
#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <span>
#include <string_view>

#include "commands.hpp"
#include "help_formatter.hpp"
#include "output.hpp"
#include "standard_descriptors.hpp"

namespace {

using namespace weir::app;

struct Known {
    std::string_view name;
    void (*add)(CLI::App& parent, Command& chosen);
};

constexpr std::array commands{
    Known{"demo", add_demo},
    Known{"record", add_record},
    Known{"readout", add_readout},
    Known{"assign", add_assign},
    Known{"build", add_build},
    Known{"send", add_send},
    Known{"supervise", add_supervise},
    Known{"select", add_select},
    Known{"filter", add_filter},
    Known{"handoff", add_handoff},
    Known{"run", add_run},
    Known{"config", add_config},
    Known{"ls", add_ls},
    Known{"show", add_show},
    Known{"cat", add_cat},
    Known{"verify", add_verify},
    Known{"recover", add_recover},
    Known{"drain", add_drain},
    Known{"alarms", add_alarms},
    Known{"sum", add_sum},
    Known{"check", add_check},
    Known{"scrub", add_scrub},
    Known{"combine", add_combine},
    Known{"bench", add_bench},
};

/// The one that is named in the first place, which needs no other; else all, for help and for what is wrong.
std::span<const Known> wanted(int argc, char** argv) {
    const auto found = argc > 1 ? std::ranges::find(commands, std::string_view(argv[1]), &Known::name) : commands.end();
    return found == commands.end() ? std::span(commands) : std::span(found, 1);
}

}  // namespace

int main(int argc, char** argv) {
    open_standard_descriptors();
    try {
        CLI::App weir("carries detector events from readout to permanent storage");
        weir.formatter(std::make_shared<HelpFormatter>());
        weir.set_help_all_flag("--help-all", "every option");
        weir.set_version_flag("--version", "weir " WEIR_VERSION);
        weir.footer("weir demo");
        weir.require_subcommand(1);

        Command chosen;
        for (const auto& known : wanted(argc, argv)) known.add(weir, chosen);

        const auto ended = parse(weir, argc, argv);
        const int code = ended ? *ended : chosen();
        if (output_arrived_or_said("weir")) return code;
        return code == exit_good ? exit_bad : code;
    } catch (const std::exception& error) {
        complain("weir", error.what());
        return exit_bad;
    }
}
