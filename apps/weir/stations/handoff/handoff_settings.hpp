// SPDX-License-Identifier: Apache-2.0
// The hand-off's options as users write them: keys of [handoff] in a configuration file, and the same words on
// the command line.
#pragma once

#include <string>
#include <vector>

#include "weir/handoff/hand_off.hpp"
#include "weir/handoff/place.hpp"
#include "weir/service/configuration.hpp"

namespace weir::app {

struct HandOffSettings {
    std::string directory;
    std::string catalogue;
    std::vector<std::string> destinations;
    std::string recorder;            // alone: only its files, by its name in the catalogue
    std::string partition_recorder;  // in a partition: NAME of its [record.NAME], which run control reads
    std::vector<std::string> priorities;
    std::string checksum = "adler32";
    std::string verify = "sum";
    std::string read = "direct";
    bool sync = true;
    std::string metrics = "127.0.0.1:0";
    bool plain = false;
    handoff::HandOffOptions options;

    /// Declares every key: in [handoff] of a hand-off that runs alone, or in its section of a partition. The table
    /// refers to this object.
    static constexpr const char* alone = "handoff";
    void declare(service::Settings& settings, const std::string& section = alone);

    /// What the words mean. Errc::usage names the one that means nothing.
    [[nodiscard]] Result<handoff::HandOffOptions> to_options() const;

    /// In the order of `destinations`. Errc::usage names the one that is no place, or is another one's.
    [[nodiscard]] Result<std::vector<handoff::Target>> targets() const;
    /// The same, opened; fills in their patterns.
    [[nodiscard]] Result<std::vector<std::unique_ptr<handoff::Destination>>> open_destinations(
        handoff::HandOffOptions& to) const;
};

}  // namespace weir::app
