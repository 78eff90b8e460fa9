// SPDX-License-Identifier: Apache-2.0
// A machine's own certificate in a partition, as files in a directory: host.crt, host.key (its owner's only) and
// ca.crt. It gets the first one with a join token, and fresh ones with the one that it has.
#pragma once

#include <filesystem>
#include <string>

#include "cli/command_line.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/result.hpp"
#include "weir/transport/tls.hpp"

namespace weir::app {

struct HostPlace {
    std::string host{};
    WallTime ends{};
};

[[nodiscard]] transport::TlsFiles host_files(const std::filesystem::path& directory);

/// Joins at run control's port for that ("192.168.10.5:9401"), and writes the files. `host`: what this machine should
/// be called; empty: as the token says. The token is used up when run control has taken it, also when the answer is
/// lost. Waits up to 30 s.
[[nodiscard]] Result<HostPlace> join_partition(const std::string& address, std::string_view token,
                                               const std::filesystem::path& directory, const std::string& host,
                                               const Clock& clock);

/// The certificates there are of the authority of the join token, or the token is none.
[[nodiscard]] bool has_authority_of(std::string_view token, const std::filesystem::path& directory);

/// Half of its validity is over: it is time to renew it. Error: the files cannot be read.
[[nodiscard]] Result<bool> certificate_is_due(const std::filesystem::path& directory, const Clock& clock);

/// Asks run control ("192.168.10.5:9400") for a fresh certificate with the one in the directory, for the same key.
/// Waits up to 30 s.
[[nodiscard]] Result<HostPlace> renew_certificate(const std::string& run_control,
                                                  const std::filesystem::path& directory, const Clock& clock);

/// The text of a file that holds a join token; "-": of stdin.
[[nodiscard]] Result<std::string> read_token(const std::filesystem::path& file);

/// `weir run join`.
void add_join(CLI::App& run, Command& chosen);

}  // namespace weir::app
