// SPDX-License-Identifier: Apache-2.0
// weir, as it is started. The commands that sum and check files are called for one small file after the other, so they
// need no more than they use. All others are in the whole program, which takes over: same process, same arguments.
#include <array>
#include <span>

#include "cli/process/become.hpp"
#include "cli/process/standard_descriptors.hpp"
#include "cli/program.hpp"
#include "sums/commands.hpp"

namespace {

using namespace weir;
using namespace weir::app;

constexpr std::array commands{
    KnownCommand{"sum", add_sum},
    KnownCommand{"check", add_check},
    KnownCommand{"scrub", add_scrub},
    KnownCommand{"combine", add_combine},
};

/// Returns only if it cannot.
int become_whole_program(std::span<char* const> arguments) {
    const auto why = become(WEIR_WHOLE_PROGRAM, arguments);
    open_standard_descriptors();
    complain("weir", fmt::format("{}; it has all commands but sum, check, scrub and combine: install weir as a whole",
                                 why.message()));
    return exit_bad;
}

}  // namespace

int main(int argc, char** argv) {
    return named_command(commands, argc, argv) != nullptr
               ? run_program(commands, argc, argv)
               : become_whole_program(std::span(argv, static_cast<std::size_t>(argc)));
}
