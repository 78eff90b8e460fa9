// SPDX-License-Identifier: Apache-2.0
// weir, as it is started. The commands that sum and check files are called for one small file after the other, so they
// need no more than they use. All others are in the whole program, which takes over: same process, same arguments.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

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
int become_whole_program(char** argv) {
    std::error_code error;
    const auto here = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    const auto whole = (here / WEIR_WHOLE_PROGRAM).lexically_normal();
    ::execv(whole.c_str(), argv);
    const auto why = Error{Errc::io, errno, fmt::format("cannot start {}", whole.native())};
    open_standard_descriptors();
    complain("weir", fmt::format("{}; it has all commands but sum, check, scrub and combine: install weir as a whole",
                                 why.message()));
    return exit_bad;
}

}  // namespace

int main(int argc, char** argv) {
    return named_command(commands, argc, argv) != nullptr ? run_program(commands, argc, argv)
                                                          : become_whole_program(argv);
}
