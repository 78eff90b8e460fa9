// SPDX-License-Identifier: Apache-2.0
// The authority that a partition makes for itself, below the directory of its weir run: D/authority has ca.crt and
// ca.key, the partition's own certificate (partition.crt, partition.key), and tokens. Who can read ca.key can make an
// operator; so all of it is its owner's only.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "stations/frame/partition_settings.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/result.hpp"
#include "weir/service/control_access.hpp"
#include "weir/transport/authority.hpp"

namespace weir::app {

class OwnAuthority {
public:
    /// Makes it when it is not there, as a whole or not at all, and the partition's certificate anew, with its key,
    /// when it ends within half of its validity, or this machine has an address that it is not made out for. The
    /// directory is locked by the caller.
    [[nodiscard]] static Result<OwnAuthority> prepare(const std::filesystem::path& directory,
                                                      const std::string& partition, const Clock& clock);
    /// The one that is there. Errc::refused: there is none.
    [[nodiscard]] static Result<OwnAuthority> open(const std::filesystem::path& directory);

    [[nodiscard]] const transport::Authority& authority() const noexcept { return authority_; }
    [[nodiscard]] std::filesystem::path tokens_file() const { return folder_ / "tokens"; }

private:
    OwnAuthority(std::filesystem::path folder, transport::Authority authority)
        : folder_(std::move(folder)), authority_(std::move(authority)) {}
    [[nodiscard]] Result<> keep_certificate(const std::string& partition, const Clock& clock) const;
    std::filesystem::path folder_;
    transport::Authority authority_;
};

/// Names that [security] gives a role: no certificate of another role may have one of them.
[[nodiscard]] std::vector<std::string> listed_names(const PartitionSettings& settings);

}  // namespace weir::app
