// SPDX-License-Identifier: Apache-2.0
// What a text in a partition file must be, key by key (Settings::Key::each), so that a mistake is reported with its
// line by every program that reads the file: `weir config check`, run control, the station itself.
#pragma once

#include <string>

#include "weir/base/result.hpp"

namespace weir::app {

/// "127.0.0.1:9000".
[[nodiscard]] Result<> check_address(const std::string& text);
/// The same, or empty: the default of a port for other stations.
[[nodiscard]] Result<> check_listen(const std::string& text);
/// "10.77.0.0/16", or empty: none.
[[nodiscard]] Result<> check_network(const std::string& text);
/// "0x7c0000".
[[nodiscard]] Result<> check_source(const std::string& text);
/// "0xa80010:1".
[[nodiscard]] Result<> check_offset(const std::string& text);
/// "2/6".
[[nodiscard]] Result<> check_part(const std::string& text);
/// "physics_Main".
[[nodiscard]] Result<> check_stream(const std::string& text);
/// What fills a readout: a name, or a front-end: a file that is there. Loads nothing.
[[nodiscard]] Result<> check_readout_source(const std::string& text);
/// A selection that is built in, or a file that is there. Loads nothing.
[[nodiscard]] Result<> check_selection(const std::string& text);

}  // namespace weir::app
