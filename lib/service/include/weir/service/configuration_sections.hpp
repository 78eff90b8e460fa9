// SPDX-License-Identifier: Apache-2.0
// A configuration file as a list of its sections in the order of the file: for a reader of the whole and not of
// the meaning of keys. The text is limited as that of Settings is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.hpp"
#include "weir/service/configuration.hpp"

namespace weir::service {

struct SectionText {
    std::string key{};
    std::string text{};  // of a string; each string of a list is one of its own
    std::size_t line = 0;
};

struct ConfigurationSection {
    std::string path{};                // "data", "readout.ros-1"
    std::vector<SectionText> texts{};  // other values are left out
    std::size_t line = 0;
    bool has_values = false;  // of any kind; else it is empty or has sections only
};

/// Errc::usage names file and line of what is no TOML.
[[nodiscard]] Result<std::vector<ConfigurationSection>> list_sections(std::string_view text,
                                                                      std::string_view file_name);

/// A key of the file with its value.
struct ConfigurationValue {
    std::string section{};  // "readout.ros-1"
    std::string key{};
    SettingValue value{};
};

/// Every key that Settings could read, by section and key; a value of a kind that no key has is left out.
[[nodiscard]] Result<std::vector<ConfigurationValue>> list_values(std::string_view text, std::string_view file_name);

}  // namespace weir::service
