// SPDX-License-Identifier: Apache-2.0
#include "cli/process/become.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <vector>

namespace weir::app {

Error become(const std::filesystem::path& place, std::span<char* const> arguments) {
    std::error_code error;
    const auto here = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    const auto program = (here / place).lexically_normal();
    std::vector<char*> ended(arguments.begin(), arguments.end());
    ended.push_back(nullptr);
    ::execv(program.c_str(), ended.data());
    return Error{Errc::io, errno, fmt::format("cannot start {}", program.native())};
}

}  // namespace weir::app
