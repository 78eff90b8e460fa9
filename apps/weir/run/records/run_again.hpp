// SPDX-License-Identifier: Apache-2.0
// A run taken again from its record: the partition file as it was in effect, and the options beside it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/catalogue/run_record.hpp"

namespace weir::app {

/// In hex.
[[nodiscard]] std::string sha256_of(std::string_view text);

/// Of the text of a file: a record as it is when its sum fits, else a record with this partition file and no options.
/// `file` stands in errors.
[[nodiscard]] Result<catalogue::RunRecord> record_to_take(std::string text, const std::filesystem::path& file);

/// For --masked: what was masked from the begin of the run where the file says otherwise ("0x420000,0x430000", "none");
/// empty: what the file says.
[[nodiscard]] std::string masked_option(const catalogue::RunRecord& record);
/// Errc::usage: it is neither sources nor "none".
[[nodiscard]] Result<std::vector<SourceId>> parse_masked_option(std::string_view text);

/// What takes the run again, with the options as a shell reads them: "weir run FILE --events 100".
[[nodiscard]] std::string command_again(const catalogue::RunRecord& record, std::string_view file);

}  // namespace weir::app
