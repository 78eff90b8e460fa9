// SPDX-License-Identifier: Apache-2.0
#include "readout/measured/worker_seconds.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace weir::app {
namespace {

/// Fields 14 and 15 of /proc/PID/stat; the second field is a name in parentheses, which may hold anything.
double seconds_of_process(const std::string& process) {
    std::ifstream file("/proc/" + process + "/stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto name_end = text.rfind(')');
    if (name_end == std::string::npos) return 0;
    std::istringstream fields(text.substr(name_end + 1));
    std::string skipped;
    for (int field = 3; field < 14; ++field) fields >> skipped;
    double user = 0, system = 0;
    fields >> user >> system;
    return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

double worker_seconds() {
    double seconds = 0;
    std::error_code error;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", error)) {
        std::ifstream children(thread.path() / "children");
        for (std::string process; children >> process;) seconds += seconds_of_process(process);
    }
    return seconds;
}

}  // namespace weir::app
