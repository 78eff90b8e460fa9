// SPDX-License-Identifier: Apache-2.0
// weir-bench NAME ...: what `weir bench NAME ...` becomes. So its command line is that of `weir bench`, in help and
// errors too.
#include <array>
#include <string>
#include <vector>

#include "bench.hpp"
#include "cli/program.hpp"

namespace {

using namespace weir::app;

constexpr std::array commands{KnownCommand{"bench", add_bench}};

}  // namespace

int main(int argc, char** argv) {
    std::string weir = "weir", bench = "bench";
    std::vector<char*> arguments{weir.data(), bench.data()};
    if (argc > 1) arguments.insert(arguments.end(), argv + 1, argv + argc);
    return run_program(commands, static_cast<int>(arguments.size()), arguments.data());
}
