// SPDX-License-Identifier: Apache-2.0
// The recorder's options as users write them: keys of a configuration file, and the same words on the
// command line. One table, so that file, command line, help and documentation agree.
#pragma once

#include <string>
#include <vector>

#include "weir/base/result.hpp"
#include "weir/recorder/recorder_options.hpp"
#include "weir/service/configuration.hpp"

namespace weir::app {

/// What stands in a file or on the command line, before it is turned into RecorderOptions.
struct RecorderSettings {
    recorder::RecorderOptions options;
    std::string listen = "127.0.0.1:9000";
    std::vector<std::string> directories;
    std::uint32_t run = 0;  // 0: the next free number
    std::string mode = "receipt";
    std::string check = "header";
    std::string late = "new-file";
    std::string direct = "auto";
    std::uint32_t file_version = 0;  // 0: as the format asks
    std::uint32_t checksum_threads = 2;
    Bytes checksum_cutoff{0};  // 0: measured at start
    std::string metrics = "127.0.0.1:0";
    std::string tls_certificate, tls_key, tls_ca;
    bool plain = false;  // without TLS on an address that others reach
    std::chrono::seconds stop_deadline{60};

    /// Declares every key: in [record] of a recorder that runs alone, or in its section of a partition. The table
    /// refers to this object.
    static constexpr const char* alone = "record";
    void declare(service::Settings& settings, const std::string& section = alone);

    /// Checks and converts. Errc::usage names the option.
    [[nodiscard]] Result<recorder::RecorderOptions> to_options() const;
};

}  // namespace weir::app
