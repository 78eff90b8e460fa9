// SPDX-License-Identifier: Apache-2.0
// The certificate files that a partition file names, before anything runs: else each station would be told by TLS,
// later, in words that name no file.
#pragma once

#include <filesystem>
#include <string_view>

#include "weir/base/clock.hpp"
#include "weir/base/result.hpp"

namespace weir::app {

/// That they are there and readable, the key is that of the certificate, which has not ended, serves for servers and
/// clients, and was signed by tls_ca. Nothing to look at without the three keys. Errc::usage: one line with file and
/// line. The rest of the file is good (check_partition).
[[nodiscard]] Result<> check_certificates(std::string_view text, const std::filesystem::path& file, WallTime now);

}  // namespace weir::app
