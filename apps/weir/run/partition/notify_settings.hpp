// SPDX-License-Identifier: Apache-2.0
// Sections [notify.NAME] of a partition file: what people are sent, where, and when.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weir/control/notifier.hpp"
#include "weir/service/configuration.hpp"

namespace weir::app {

struct NotifySettings {
    control::NotifierOptions options{};                                // but for what stands in files
    std::vector<std::string> on{"start", "stop", "bad_run", "alarm"};  // these five as in the file
    std::string severity = "warning", url{}, url_file{}, headers_file{}, ca_file{};
    std::size_t line = 0;  // of the section

    /// Declares every key of a section.
    void declare(service::Settings& settings, const std::string& section);
};

/// In the order of the file. The files that they name are not looked at. Errc::usage: one line with file, line, and
/// what to change.
[[nodiscard]] Result<std::vector<NotifySettings>> list_notifiers(std::string_view text,
                                                                 const std::filesystem::path& file);
/// With the content of the files. Errc::usage: also a file that is not there, or that others may read.
[[nodiscard]] Result<std::vector<control::NotifierOptions>> read_notifiers(std::string_view text,
                                                                           const std::filesystem::path& file);

}  // namespace weir::app
