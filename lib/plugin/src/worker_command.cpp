// SPDX-License-Identifier: Apache-2.0
#include "weir/plugin/worker_command.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <system_error>

namespace weir::plugin {
namespace {

namespace fs = std::filesystem;

/// Seen from the program in libexec/weir/, or from another one in bin/.
Result<fs::path> find_program(const fs::path& folder, std::initializer_list<fs::path> places) {
    std::error_code error;
    auto start = folder;
    if (start.empty()) start = fs::read_symlink("/proc/self/exe", error).parent_path();
    for (const auto& place : places) {
        auto path = (start / place).lexically_normal();
        if (fs::exists(path, error)) return path;
    }
    return fail(Errc::usage, fmt::format("{} is not beside this program ({}): weir is not installed as a whole",
                                         places.begin()->filename().string(), start.string()));
}

}  // namespace

Result<std::vector<std::string>> worker_command(const WorkerPrograms& programs, const fs::path& plugin) {
    if (plugin.extension() == ".py") {
        const fs::path shared = fs::path("share/weir") / programs.script;
        const auto script = WEIR_TRY(find_program(programs.folder, {programs.script, "../.." / shared, ".." / shared}));
        return std::vector<std::string>{programs.python.string(), script.string(), plugin.string()};
    }
    const auto program =
        WEIR_TRY(find_program(programs.folder, {programs.program, fs::path("../libexec/weir") / programs.program}));
    return std::vector<std::string>{program.string(), plugin.string()};
}

Result<> check_plugin_name(const fs::path& file, std::string_view kind) {
    const auto ending = file.extension();
    if (ending != ".so" && ending != ".py")
        return fail(Errc::usage, fmt::format("\"{}\" is no {}: give a file NAME.so or NAME.py", file.string(), kind));
    return {};
}

Result<> check_plugin_file(const fs::path& file, std::string_view kind) {
    WEIR_TRY(check_plugin_name(file, kind));
    std::error_code error;
    if (!fs::exists(file, error))
        return fail(Errc::usage, fmt::format("the {} {} is not there", kind, fs::absolute(file, error).string()));
    return {};
}

}  // namespace weir::plugin
