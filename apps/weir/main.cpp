// SPDX-License-Identifier: Apache-2.0
// weir: the one program. The commands in the order of `weir --help`; each has a file of its name.
#include <exception>
#include <memory>

#include "commands.hpp"
#include "help_formatter.hpp"
#include "output.hpp"
#include "standard_descriptors.hpp"

int main(int argc, char** argv) {
    using namespace weir::app;
    open_standard_descriptors();
    try {
        CLI::App weir("carries detector events from readout to permanent storage");
        weir.formatter(std::make_shared<HelpFormatter>());
        weir.set_help_all_flag("--help-all", "every option");
        weir.set_version_flag("--version", "weir " WEIR_VERSION);
        weir.footer("weir demo");
        weir.require_subcommand(1);

        Command chosen;
        add_demo(weir, chosen);
        add_record(weir, chosen);
        add_readout(weir, chosen);
        add_assign(weir, chosen);
        add_build(weir, chosen);
        add_send(weir, chosen);
        add_supervise(weir, chosen);
        add_select(weir, chosen);
        add_filter(weir, chosen);
        add_handoff(weir, chosen);
        add_run(weir, chosen);
        add_config(weir, chosen);
        add_ls(weir, chosen);
        add_show(weir, chosen);
        add_cat(weir, chosen);
        add_verify(weir, chosen);
        add_recover(weir, chosen);
        add_drain(weir, chosen);
        add_alarms(weir, chosen);
        add_sum(weir, chosen);
        add_check(weir, chosen);
        add_scrub(weir, chosen);
        add_combine(weir, chosen);
        add_bench(weir, chosen);

        const auto ended = parse(weir, argc, argv);
        const int code = ended ? *ended : chosen();
        if (output_arrived_or_said("weir")) return code;
        return code == exit_good ? exit_bad : code;
    } catch (const std::exception& error) {
        complain("weir", error.what());
        return exit_bad;
    }
}
