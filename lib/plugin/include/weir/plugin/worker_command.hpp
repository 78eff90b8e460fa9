// SPDX-License-Identifier: Apache-2.0
// The command that runs a plug-in in a process of its own: NAME.so by a program of weir, NAME.py by a script of weir in
// an interpreter.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "weir/base/result.hpp"

namespace weir::plugin {

struct WorkerPrograms {
    std::string program;  // for NAME.so: "weir-selection-worker"
    std::string script;   // for NAME.py: "weir_selection_worker.py"
    std::filesystem::path python = "/usr/bin/python3";
    std::filesystem::path folder{};  // where both are; empty: beside this program
};

/// Errc::usage: the worker is not installed.
[[nodiscard]] Result<std::vector<std::string>> worker_command(const WorkerPrograms& programs,
                                                              const std::filesystem::path& plugin);

/// `file` is named NAME.so or NAME.py: enough where it is used on another machine. Errc::usage; `kind`: "selection".
[[nodiscard]] Result<> check_plugin_name(const std::filesystem::path& file, std::string_view kind);

/// `file` is there, and is named NAME.so or NAME.py. Loads nothing. Errc::usage; `kind`: "selection".
[[nodiscard]] Result<> check_plugin_file(const std::filesystem::path& file, std::string_view kind);

}  // namespace weir::plugin
