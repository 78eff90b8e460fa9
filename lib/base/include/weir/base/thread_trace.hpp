// SPDX-License-Identifier: Apache-2.0
// The timeline of a process's threads as a file that Perfetto (ui.perfetto.dev) and Chrome open: what each thread
// waited for, when and how long, and the work that was given a name.
#pragma once

#include <filesystem>
#include <string>

#include "weir/base/result.hpp"
#include "weir/base/thread_account.hpp"

namespace weir {

/// {"traceEvents":[...]}: one complete ("X") event a span, in microseconds since the first thread began.
[[nodiscard]] std::string thread_trace(const ThreadAccounts& accounts, std::string_view process_name);

/// Replaces what is there.
[[nodiscard]] Result<> write_thread_trace(const ThreadAccounts& accounts, std::string_view process_name,
                                          const std::filesystem::path& path);

}  // namespace weir
