// SPDX-License-Identifier: Apache-2.0
#include "bench.hpp"

#include <string>
#include <vector>

#include "cli/process/become.hpp"
#include "cli/process/standard_descriptors.hpp"

namespace weir::app {

void add_bench(CLI::App& parent, Command& chosen) {
    auto& bench = add_command(parent, group_measure, "bench", "measures this machine: limits, ours, peers, in one run",
                              "weir bench record --plot figure5.svg");
    bench.callback([&chosen] { chosen = [] { return become_bench({}); }; });
}

int become_bench(std::span<char* const> arguments) {
    std::string name = "weir-bench";
    std::vector<char*> all{name.data()};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const auto why = become(name, all);
    open_standard_descriptors();
    complain("weir bench",
             fmt::format("{}; the benchmarks are a program of their own: build the target weir-bench, or install "
                         "weir with it",
                         why.message()));
    return exit_bad;
}

}  // namespace weir::app
